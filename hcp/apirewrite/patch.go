// This file renames the bodies of requests: objects, patches of each kind, and YAML.

package apirewrite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Types of bodies, as in the header Content-Type without parameters.
const (
	JSONPatch  = "application/json-patch+json"
	ApplyPatch = "application/apply-patch+yaml"
	YAML       = "application/yaml"
)

// LargestYAML is the limit of YAML that may have a word of the rules, in bytes. Parsing YAML takes about ten times as
// long as JSON, and up to 200 bytes of memory for each byte.
const LargestYAML = 256 << 10

// Body renames a body of a type that is JSON or YAML. A body without a word of the rules is returned unchanged, even
// if it is not valid: the API server reports the mistake. YAML with a word becomes JSON. YAML that may have a word
// has at most LargestYAML bytes and no aliases, since a few aliases make gigabytes of a small body.
func (r *Rules) Body(contentType string, body []byte, target Target, direction Direction) ([]byte, error) {
	sent := body
	d := doc{r: r, direction: direction}
	isYAML := contentType == ApplyPatch || contentType == YAML
	isJSON := isYAML && d.read(body) == nil
	if isYAML && !isJSON {
		word := r.HasWord(body)
		if !word && bytes.IndexByte(body, '\\') < 0 && !target.definition() { // An escape may spell a word.
			return body, nil
		}
		if len(body) > LargestYAML {
			return nil, fmt.Errorf("body of type %s: YAML has more than %d bytes: send JSON", contentType, LargestYAML)
		}
		if err := withoutAliases(body); err != nil {
			return nil, fmt.Errorf("body of type %s: %w", contentType, err)
		}
		converted, err := yaml.YAMLToJSON(body)
		if err != nil && word {
			return nil, fmt.Errorf("body of type %s: %w", contentType, err)
		}
		if err != nil {
			return body, nil
		}
		body = converted
	}
	// Two bodies may have names without a word of the rules in their text: the patch in an AdmissionReview is in base64,
	// and a JSON patch of an object does not name its group.
	ownKind := contentType == JSONPatch && r.groups[target.Group] != nil
	if !r.mayRename(body) && !target.definition() && !ownKind && !bytes.Contains(body, []byte("AdmissionReview")) {
		return sent, nil
	}
	if !isJSON && d.read(body) != nil {
		return sent, nil
	}
	if contentType == JSONPatch {
		d.jsonPatch(target.kind())
	} else {
		d.value(0, plainRole)
		d.special(0, target.kind())
		d.definitionPatch(target)
	}
	if len(d.edits) == 0 {
		return sent, nil
	}
	return d.write(nil), nil
}

// withoutAliases returns an error if a YAML body has an alias, or if it is invalid and may have one.
func withoutAliases(body []byte) error {
	if bytes.IndexByte(body, '&') < 0 || bytes.IndexByte(body, '*') < 0 {
		return nil
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(body, &document); err != nil {
		return err
	}
	var aliased func(*yamlv3.Node) bool
	aliased = func(n *yamlv3.Node) bool {
		return n.Kind == yamlv3.AliasNode || slices.ContainsFunc(n.Content, aliased)
	}
	if aliased(&document) {
		return errors.New("YAML must have no aliases (*name): send JSON, or repeat the value")
	}
	return nil
}

// Document returns a document of the API server in the client's words: an object or a list of objects in JSON, such
// as in a file. Text that is not JSON is returned unchanged.
func (r *Rules) Document(text []byte) []byte {
	if !r.mayRename(text) {
		return text
	}
	d := doc{r: r, direction: ToClient}
	if d.read(text) != nil {
		return text
	}
	d.value(0, plainRole)
	d.special(0, Kind{})
	return d.write(nil)
}

// definitionPatch renames in a patch of a CustomResourceDefinition. Such a patch does not name its group.
func (d *doc) definitionPatch(target Target) {
	if !target.definition() || d.nodes[0].kind != '{' || d.inside(0, "spec", "group") != 0 || d.inside(0, "metadata", "name") != 0 {
		return
	}
	_, name, _ := strings.Cut(target.Name, ".")
	names := d.inside(0, "spec", "names")
	if g := d.r.groups[name]; g != nil && names != 0 {
		d.definedNames(names, g)
	}
}

// jsonPatch renames the operations of a JSON patch (RFC 6902) of an object.
func (d *doc) jsonPatch(of Kind) {
	if d.nodes[0].kind != '[' {
		return
	}
	d.members(0, func(op int) {
		if d.nodes[op].kind != '{' {
			return
		}
		path := string(d.text(d.member(op, "path")))
		for _, name := range []string{"path", "from"} {
			d.pointer(d.member(op, name))
		}
		if v := d.member(op, "value"); v != 0 {
			d.placed(v, strings.Split(path, "/"), of)
		}
	})
}

// pointer renames the segments of a JSON pointer (RFC 6901) that are keys.
func (d *doc) pointer(i int) {
	segments := strings.Split(string(d.text(i)), "/")
	changed := false
	for at := 1; at < len(segments); at++ {
		if roleOf([]byte(segments[at-1]), plainRole) != keyNames {
			continue
		}
		if other, ok := d.r.key(unescaped(segments[at])); ok {
			segments[at], changed = escaped(other), true
		}
	}
	if changed {
		d.replace(i, strings.Join(segments, "/"))
	}
}

func unescaped(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
}

func escaped(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "~", "~0"), "/", "~1")
}

// placed renames a value according to the path at which a patch puts it.
func (d *doc) placed(v int, segments []string, of Kind) {
	last, before := segments[len(segments)-1], ""
	if len(segments) > 1 {
		before = segments[len(segments)-2]
	}
	role, isItem := roleOf([]byte(last), plainRole), last == "-"
	if _, err := strconv.Atoi(last); err == nil || isItem {
		role, isItem = roleOf([]byte(before), plainRole), true
	}
	switch {
	case d.nodes[v].kind != '"':
		if isItem {
			role = plainRole // An object in a list.
		}
		d.value(v, role)
		if len(segments) == 1 {
			d.special(v, of)
		}
	case role == keyList && isItem:
		d.keyValue(v)
	case before == "annotations" && unescaped(last) == lastApplied:
		d.embedded(v)
	case role == groupList && isItem, last == "apiGroup":
		d.groupName(v)
	case last == "apiVersion":
		d.groupVersion(v)
	case last == "selector", last == "labelSelector":
		d.selector(v)
	case last == "fieldPath":
		d.fieldPath(v)
	case last == "topologyKey", last == "key" && (slices.Contains(segments, "tolerations") || slices.Contains(segments, "taints") || strings.Contains(strings.Join(segments, "/"), "/match")):
		d.keyValue(v)
	case len(segments) == 2 && last == "kind":
		if g := d.r.groups[of.Group]; g != nil {
			d.exchange(v, g.kinds)
		}
	case of.Kind == "customresourcedefinitions" && before == "spec" && last == "group":
		d.groupName(v)
	}
}
