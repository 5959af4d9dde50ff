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

// LargestYAML limits a body in YAML that may contain a word of the rules, in bytes. Parsing YAML takes about ten times as
// long as JSON, and up to 200 bytes of memory for each byte.
const LargestYAML = 256 << 10

// Body returns a renamed body. contentType must be that of JSON or YAML. If nothing is to be renamed, it returns body, even
// if that is not valid: the API server reports the mistake. YAML in which something is renamed becomes JSON. YAML that may
// contain a word must have at most LargestYAML bytes and no aliases, because few aliases can expand to gigabytes.
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
	// Two kinds of bodies may need renaming although their text contains no group or key of the rules. The patch in an
	// AdmissionReview is in base64, and a JSON patch of an object does not contain the object's group.
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

// If a YAML body contains an alias, or if it is invalid and may contain one, withoutAliases returns an error.
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

// Document returns text with the client's words. text is an object or a list of objects in JSON, for example from a file.
// Text that is not JSON is returned unchanged.
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

// definitionPatch renames in a patch of a CustomResourceDefinition. If the patch contains neither the group nor the
// object's name, the name in target decides.
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

// jsonPatch renames in the operations of d, a JSON patch (RFC 6902). Parameter of is the kind of the patched object.
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

// pointer renames the keys in string i, a JSON pointer (RFC 6901).
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

// placed renames value v of a patch operation. segments are the path to which the operation writes v. Parameter of is the
// kind of the patched object.
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
			role = plainRole // v is an object in a list.
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
