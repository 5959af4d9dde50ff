// This file lays a story's patch over the objects of its base.
//
// patch.yaml begins with a comment that says what the story shows. Its first
// document is "base: <story>". Each further one is an object: one that the base
// has, by kind, namespace and name, is merged as by `kubectl patch --type merge`
// (RFC 7386: null removes a field, a list is replaced); "$patch: delete" removes
// it; any other object is added.

package golden

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

type object = map[string]any

// baseOf is the story that a patch is for, empty where it names none.
func baseOf(patch []byte) string {
	all, err := objectsIn(patch)
	if err != nil || len(all) == 0 {
		return ""
	}
	base, _ := all[0]["base"].(string)
	return base
}

// patched is the stream of objects that patch makes from base.
func patched(base, patch []byte) ([]byte, error) {
	all, err := objectsIn(base)
	if err != nil {
		return nil, err
	}
	changes, err := objectsIn(patch)
	if err != nil {
		return nil, err
	}
	for _, c := range changes[1:] {
		i := slices.IndexFunc(all, func(o object) bool { return identity(o) == identity(c) })
		switch {
		case c["$patch"] == "delete" && i < 0:
			return nil, fmt.Errorf("%s is to be removed, and the base has none", identity(c))
		case c["$patch"] == "delete":
			all = slices.Delete(all, i, i+1)
		case i < 0:
			all = append(all, c)
		default:
			all[i] = merged(all[i], c)
		}
	}
	return stream(all)
}

// merged is RFC 7386's MergePatch of two objects.
func merged(target, patch object) object {
	out := object{}
	for k, v := range target {
		out[k] = v
	}
	for k, v := range patch {
		into, _ := out[k].(object)
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case object:
			out[k] = merged(into, v)
		default:
			out[k] = v
		}
	}
	return out
}

// identity distinguishes an object from others.
func identity(o object) string {
	m, _ := o["metadata"].(object)
	return fmt.Sprintf("%v %v %v/%v", o["apiVersion"], o["kind"], m["namespace"], m["name"])
}

// objectsIn are the documents of a stream, without those that hold comments only.
func objectsIn(text []byte) ([]object, error) {
	var out []object
	for d := range strings.SplitSeq("\n"+string(text), "\n"+separator) {
		var o object
		if err := yaml.Unmarshal([]byte(d), &o); err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, o)
		}
	}
	return out, nil
}

func stream(all []object) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range all {
		b, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		out.WriteString(separator)
		out.Write(b)
	}
	return out.Bytes(), nil
}
