// This file finds the objects in the content of a file.

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yamldecoder "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Read returns all Kubernetes objects in the content of a file, in UTF-8 or UTF-16. It reads YAML documents, JSON
// values one after another, arrays, and the items of lists. A fault in one document does not hide the others. Data that
// does not look like an object is skipped.
func Read(file string, content []byte) ([]Object, []Fault) {
	return ReadRenamed(file, content, func(text []byte) []byte { return text })
}

// ReadRenamed is like Read, for files in which names of the API, such as groups, are replaced (package hcp/apirewrite).
// rename is called with an object or a list of objects, in JSON, and returns it with the original names.
func ReadRenamed(file string, content []byte, rename func([]byte) []byte) ([]Object, []Fault) {
	r := reader{file: file, rename: rename}
	text, err := utf8(content)
	if err != nil {
		r.unread(err)
		return nil, r.faults
	}
	for i, d := range documents(text) {
		r.where, r.in = fmt.Sprintf("document %d", i+1), d
		r.document(d.text)
	}
	return r.objects, r.faults
}

type reader struct {
	file   string
	rename func([]byte) []byte
	// where names the present part, such as "document 2".
	where string
	// in is the document that contains that part. Its text is empty if it has several objects.
	in document
	// depth is the number of lists around that part.
	depth   int
	objects []Object
	faults  []Fault
}

func (r *reader) unread(err error) { r.fault(err, true) }

func (r *reader) fault(err error, unread bool) {
	if r.where != "" {
		err = fmt.Errorf("%s: %w", r.where, err)
	}
	r.faults = append(r.faults, Fault{File: r.file, Err: err, Unread: unread})
}

// A document is one document of a YAML stream. line is the line of the file where it begins, from 1.
type document struct {
	line int
	text []byte
}

// documents splits a stream of YAML documents. In JSON, no line begins with one of YAML's markers.
func documents(text []byte) []document {
	var out []document
	current, n := document{line: 1}, 0
	end := func(next int) {
		if hasContent(current.text) {
			out = append(out, current)
		}
		current = document{line: next}
	}
	for line := range bytes.Lines(text) {
		n++
		if after, ok := marker(line, "---"); ok {
			end(n)
			current.text = slices.Clone(after)
			continue
		}
		if _, ok := marker(line, "..."); ok {
			end(n + 1)
			continue
		}
		current.text = append(current.text, line...)
	}
	end(n)
	return out
}

// lines returns where o and its annotations and labels begin. d has no other object.
func (d document) lines(o Object) map[string]int {
	out, n := map[string]int{}, d.line-1
	for line := range bytes.Lines(d.text) {
		n++
		line = bytes.TrimSpace(line)
		if out[""] == 0 && len(line) > 0 && line[0] != '#' {
			out[""] = n
		}
		line = bytes.TrimLeft(line, `"'`)
		end := bytes.IndexAny(line, `"':`)
		if end <= 0 {
			continue
		}
		key := string(line[:end])
		_, annotation := o.Annotations[key]
		_, label := o.Labels[key]
		if (annotation || label) && out[key] == 0 {
			out[key] = n
		}
	}
	return out
}

// marker reports whether line begins with the YAML marker in parameter of. after is the rest of the line.
func marker(line []byte, of string) (after []byte, ok bool) {
	after, ok = bytes.CutPrefix(line, []byte(of))
	return after, ok && (len(after) == 0 || bytes.IndexByte([]byte(" \t\n"), after[0]) >= 0)
}

// hasContent reports whether a document has more than comments and directives.
func hasContent(document []byte) bool {
	for line := range bytes.Lines(document) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

// document reads one YAML document, or JSON values one after another.
func (r *reader) document(text []byte) {
	start := bytes.TrimSpace(text)
	if start[0] == '{' || start[0] == '[' {
		values, err := jsonValues(start)
		if len(values) > 0 || err == nil {
			if len(values) > 1 {
				r.in.text = nil
			}
			for _, v := range values {
				r.value(r.rename(v), head{})
			}
			if err != nil {
				r.unread(readable(fmt.Errorf("after JSON value %d: %w", len(values), err)))
			}
			return
		}
	}
	if err := expands(text); err != nil {
		r.unread(err)
		return
	}
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		repeated := err
		if object, err = yaml.YAMLToJSON(text); err != nil {
			r.unread(readable(err))
			return
		}
		r.fault(fmt.Errorf("%w (the last one counts)", readable(repeated)), false)
	}
	r.value(r.rename(object), head{})
	if err := alone(text); err != nil {
		r.unread(err)
	}
}

// maxAdded is the largest size in memory that aliases may add to a document, in bytes. nodeSize is that of one value.
const maxAdded, nodeSize = 16 << 20, 64

// expands returns an error if the aliases in a document add more than maxAdded: few of them can expand to gigabytes.
func expands(text []byte) error {
	if bytes.IndexByte(text, '&') < 0 || bytes.IndexByte(text, '*') < 0 {
		return nil
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return readable(err)
	}
	if added(&document, false, 0) > maxAdded {
		return fmt.Errorf("its aliases (*name) repeat more than %d MiB", maxAdded>>20)
	}
	return nil
}

// added returns sum and the size of the values that aliases in n repeat. After the limit, it stops: an alias in its own
// anchor has no end. aliased is true if an alias repeats n.
func added(n *yamlv3.Node, aliased bool, sum int) int {
	if n.Kind == yamlv3.AliasNode {
		n, aliased = n.Alias, true
	}
	if aliased {
		sum += nodeSize + len(n.Value)
	}
	for _, child := range n.Content {
		if sum > maxAdded {
			break
		}
		sum = added(child, aliased, sum)
	}
	return sum
}

// jsonValues splits text into JSON values. With an error, it also returns the values before the error.
func jsonValues(text []byte) (out []json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var v json.RawMessage
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return out, err
		}
		out = append(out, v)
	}
}

// alone returns an error if content follows the first value of a document. That is possible only if the value is
// indented, or begins with a brace, a bracket or a quotation mark.
func alone(text []byte) error {
	for line := range bytes.Lines(text) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) == 0 || trimmed[0] == '#' {
			continue
		}
		if bytes.IndexByte([]byte(" \t{[\"'"), line[0]) < 0 {
			return nil
		}
		break
	}
	d := yamldecoder.NewDecoder(bytes.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		return readable(err)
	}
	if err := d.Decode(&v); !errors.Is(err, io.EOF) {
		return errors.New("content follows the object: separate objects with ---, and indent all their lines equally")
	}
	return nil
}

// value reads an object or a list of objects. Parameter of has the apiVersion and kind for items of the list around it.
func (r *reader) value(text json.RawMessage, of head) {
	switch text = bytes.TrimSpace(text); {
	case string(text) == "null":
	case text[0] == '[':
		r.items(text, head{})
	case text[0] != '{':
		r.fault(errors.New("not a Kubernetes object"), false)
	default:
		r.object(text, of)
	}
}

// maxDepth is the largest depth of nested lists.
const maxDepth = 10

// items reads an array. Parameter of has the apiVersion and kind of its items.
func (r *reader) items(text json.RawMessage, of head) {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		r.unread(fmt.Errorf("%s: items is not a list", of.Kind))
		return
	}
	if r.depth == maxDepth {
		r.unread(fmt.Errorf("more than %d nested lists", maxDepth))
		return
	}
	where := r.where
	r.depth++
	for i, item := range items {
		r.where = fmt.Sprintf("%s, item %d", where, i+1)
		r.value(item, of)
	}
	r.where = where
	r.depth--
}

// object reads an object or a list. Parameter of has the same meaning as in method value.
func (r *reader) object(text json.RawMessage, of head) {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		r.unread(fmt.Errorf("%s: %w", named(h), readable(err)))
		return
	}
	kind, isList := strings.CutSuffix(h.Kind, "List")
	if isList && h.Items != nil {
		r.items(h.Items, head{APIVersion: h.APIVersion, Kind: kind})
		return
	}
	if h.Kind == "" && of.Kind != "" {
		h.Kind, h.APIVersion = of.Kind, of.APIVersion
	}
	if h.Kind == "" {
		if h.APIVersion != "" || h.Items != nil || h.Metadata.Name != "" {
			r.fault(errors.New("it has no kind"), false)
		}
		return // other data, such as the values of a template
	}
	o, err := newObject(r.file, h, text)
	if err != nil {
		r.unread(fmt.Errorf("%s: %w", named(h), readable(err)))
		return
	}
	if r.depth == 0 && r.in.text != nil {
		o.Lines = r.in.lines(o)
	}
	for _, key := range o.Unquoted {
		r.fault(fmt.Errorf("%s: the value of %s must be a quoted string; the API server refuses the object", o, key), false)
	}
	r.objects = append(r.objects, o)
}

// named returns a name for messages about an object that cannot be read completely.
func named(h head) string {
	return Object{Kind: h.Kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}.String()
}
