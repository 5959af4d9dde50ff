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

// closest is the document of d's kind that differs least from it, the first of
// several; of no use is one that differs in more lines than d has.
func closest(all []document, d document) (out document, found bool) {
	least := strings.Count(d.text, "\n")
	for _, o := range all {
		if o.kind != d.kind {
			continue
		}
		if n := strings.Count(hunks(lines([]byte(o.text)), lines([]byte(d.text))), "\n"); n < least {
			out, least, found = o, n, true
		}
	}
	return out, found
}

// with is all with d first, in place of another of its name.
func with(all []document, d document) []document {
	others := slices.DeleteFunc(slices.Clone(all), func(o document) bool { return o.name == d.name })
	return append([]document{d}, others...)
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
