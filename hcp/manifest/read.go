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
	"sigs.k8s.io/yaml"
)

// Read returns all Kubernetes objects in the content of a file: YAML documents, JSON values one after
// another, arrays, and the items of lists, in UTF-8 or UTF-16. A fault in one document does not hide
// the others. Data that does not look like an object is skipped.
func Read(file string, content []byte) ([]Object, []Fault) {
	return ReadRenamed(file, content, func(text []byte) []byte { return text })
}

// ReadRenamed is Read of files whose objects have other names: rename returns an object or a list of objects, in JSON,
// with the names to read it by.
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

// A reader collects the objects of one file.
type reader struct {
	file   string
	rename func([]byte) []byte
	// where is what is read now, such as "document 2".
	where string
	// in is the document that has it, without text if it has several objects.
	in document
	// depth is how many lists are around it.
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

// A document is one of a YAML stream. It begins in a line of the file, from 1.
type document struct {
	line int
	text []byte
}

// documents splits a stream of YAML documents. JSON has none of its separators at the start of a line.
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

// lines returns where the annotations and labels of o stand in d, which has no other object, and where it begins.
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

// marker reports whether line is a marker of YAML, and returns what follows on the line.
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

// jsonValues returns the values of a stream. With an error, they are those before it.
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

// alone returns an error if content follows the first value of a document. Only a value that is indented
// or in braces can end before its document.
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

// value reads one JSON value: an object, or a list of objects. of is the list that has it.
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

// maxDepth limits lists in lists.
const maxDepth = 10

// items reads the elements of an array. of is the list that they are in.
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

// object reads an object, or the items of a list. of is the list that has it.
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

// named names an object that can't be read whole, as far as it was read.
func named(h head) string {
	return Object{Kind: h.Kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}.String()
}
