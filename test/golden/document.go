// This file takes streams of YAML documents apart, and names places in documents
// for the reader of a difference.

package golden

import (
	"bytes"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const separator = "---\n"

// A document of a stream, without its separator.
type document struct{ kind, name, text string }

func isStream(text []byte) bool { return bytes.HasPrefix(text, []byte(separator)) }

// documents of a stream, in order.
func documents(stream []byte) []document {
	var out []document
	for text := range strings.SplitSeq(strings.TrimPrefix(string(stream), separator), "\n"+separator) {
		out = append(out, newDocument(strings.TrimSuffix(text, "\n")+"\n"))
	}
	return out
}

// newDocument is named by kind and name, as its manifest has them.
func newDocument(text string) document {
	var m struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	// What is no YAML has no name, and is still a document.
	_ = yaml.Unmarshal([]byte(text), &m)
	return document{kind: m.Kind, name: m.Kind + " " + m.Metadata.Name, text: text}
}

func find(all []document, name string) (document, bool) {
	i := slices.IndexFunc(all, func(d document) bool { return d.name == name })
	if i < 0 {
		return document{}, false
	}
	return all[i], true
}

func lastOfKind(all []document, kind string) (document, bool) {
	for _, d := range slices.Backward(all) {
		if d.kind == kind {
			return d, true
		}
	}
	return document{}, false
}

// path names where line i of a JSON or YAML text stands: the keys above it, from
// the outermost. Of an element of a JSON list it is the element's name.
func path(text []string, i int) string {
	var keys []string
	for depth := indent(text, i); i > 0 && depth > 0; i-- {
		if d := indent(text, i-1); d < depth {
			depth = d
			if key := keyOf(text, i-1); key != "" {
				keys = append(keys, key)
			}
		}
	}
	slices.Reverse(keys)
	return strings.Join(keys, " > ")
}

func indent(text []string, i int) int {
	if i >= len(text) {
		return 0
	}
	return len(text[i]) - len(strings.TrimLeft(text[i], " "))
}

// keyOf is the key of line i, or the "name" of the JSON object that it opens.
func keyOf(text []string, i int) string {
	line := strings.TrimSpace(text[i])
	if line != "{" {
		key, _, _ := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
		return strings.Trim(strings.TrimSuffix(key, ":"), `"`)
	}
	for j := i + 1; j < len(text) && indent(text, j) > indent(text, i); j++ {
		name, ok := strings.CutPrefix(strings.TrimSpace(text[j]), `"name": `)
		if ok && indent(text, j) == indent(text, i)+2 {
			return strings.Trim(name, `",`)
		}
	}
	return ""
}
