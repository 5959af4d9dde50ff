// This file parses one JSON document into a flat list of values with their places, and writes it with some of them
// replaced. Every other byte is copied.

package apirewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// deepest is how many levels of arrays and objects a document may have, as in an API server.
const deepest = 10_000

// errSyntax says that a document is not JSON.
var errSyntax = errors.New("the document is not valid JSON")

// A node is one value. Nodes of a document stand in its order, so the values in an object follow the object.
type node struct {
	start, end       int32 // of the value in the text; of a string with its quotes
	keyStart, keyEnd int32 // of the name within its quotes; equal for values that are not members, or have the name ""
	next             int32 // the first node after this value and all within it
	kind             byte
}

// An edit replaces a part of the text.
type edit struct {
	start, end int
	with       string
}

// A doc is one document with the edits found so far.
type doc struct {
	r         *Rules
	direction Direction
	src       []byte
	nodes     []node
	edits     []edit
}

// read parses src. It reuses the memory of a former document.
func (d *doc) read(src []byte) error {
	end, err := d.first(src)
	if err != nil {
		return err
	}
	if space(src, end) != len(src) {
		return errSyntax
	}
	d.src = src
	return nil
}

// first parses the value that src begins with, and returns where it ends.
func (d *doc) first(src []byte) (end int, err error) {
	d.src, d.nodes, d.edits = src, d.nodes[:0], d.edits[:0]
	if end, err = d.parse(space(src, 0), 0, 0, 0); err == nil {
		d.src = src[:end]
	}
	return end, err
}

func space(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	return i
}

// parse reads the value at i, and returns where it ends.
func (d *doc) parse(i, keyStart, keyEnd, depth int) (int, error) {
	if i >= len(d.src) || depth > deepest {
		return i, errSyntax
	}
	at := len(d.nodes)
	d.nodes = append(d.nodes, node{start: int32(i), keyStart: int32(keyStart), keyEnd: int32(keyEnd), kind: d.src[i]})
	var err error
	end := i
	switch c := d.src[i]; {
	case c == '"':
		end, err = stringEnd(d.src, i)
	case c == '{' || c == '[':
		end, err = d.parseMembers(i, depth)
	default:
		end, err = scalarEnd(d.src, i)
	}
	d.nodes[at].end, d.nodes[at].next = int32(end), int32(len(d.nodes))
	return end, err
}

// parseMembers reads an object or an array.
func (d *doc) parseMembers(i, depth int) (int, error) {
	open := d.src[i]
	closing := open + 2 // as in ASCII, for both kinds
	if i = space(d.src, i+1); i < len(d.src) && d.src[i] == closing {
		return i + 1, nil
	}
	for {
		if i >= len(d.src) {
			return i, errSyntax
		}
		keyStart, keyEnd := 0, 0
		var err error
		if open == '{' {
			if d.src[i] != '"' {
				return i, errSyntax
			}
			end, err := stringEnd(d.src, i)
			if err != nil {
				return i, err
			}
			keyStart, keyEnd = i+1, end-1
			if i = space(d.src, end); i >= len(d.src) || d.src[i] != ':' {
				return i, errSyntax
			}
			i = space(d.src, i+1)
		}
		if i, err = d.parse(i, keyStart, keyEnd, depth+1); err != nil {
			return i, err
		}
		if i = space(d.src, i); i >= len(d.src) {
			return i, errSyntax
		}
		if d.src[i] == closing {
			return i + 1, nil
		}
		if d.src[i] != ',' {
			return i, errSyntax
		}
		if i = space(d.src, i+1); i < len(d.src) && d.src[i] == closing {
			return i, errSyntax
		}
	}
}

// stringEnd returns the place after the string that begins at i. It looks at each byte once or twice, whatever the number of escapes.
func stringEnd(src []byte, i int) (int, error) {
	for i, quote := i+1, 0; ; {
		if quote < i { // It was escaped.
			j := bytes.IndexByte(src[i:], '"')
			if j < 0 {
				return i, errSyntax
			}
			quote = i + j
		}
		k := bytes.IndexByte(src[i:quote], '\\')
		if k < 0 {
			return quote + 1, nil
		}
		if i += k + 2; i > len(src) {
			return i, errSyntax
		}
	}
}

// scalarEnd returns the place after the number or the word that begins at i.
func scalarEnd(src []byte, i int) (int, error) {
	j := i
	for j < len(src) && !strings.ContainsRune(" \n\r\t,]}:", rune(src[j])) {
		j++
	}
	switch text := src[i:j]; {
	case string(text) == "true", string(text) == "false", string(text) == "null":
	case len(text) == 0, text[0] != '-' && (text[0] < '0' || text[0] > '9'), !json.Valid(text):
		return j, errSyntax
	}
	return j, nil
}

// write appends the document with its edits to out.
func (d *doc) write(out []byte) []byte {
	slices.SortStableFunc(d.edits, func(a, b edit) int { return a.start - b.start })
	at := 0
	for _, e := range d.edits {
		if e.start < at {
			continue // A duplicate name is renamed once.
		}
		out = append(append(out, d.src[at:e.start]...), e.with...)
		at = e.end
	}
	return append(out, d.src[at:]...)
}

// plain returns a string without escapes. What no word of a rule has, such as a lone surrogate, may change.
func plain(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &s) != nil {
		return raw
	}
	return []byte(s)
}

// quoted returns text as the inside of a JSON string.
func quoted(text string) string {
	if strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) < 0 {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // Text has no error.
	return b.String()[1 : b.Len()-2]
}

// name is the name of a member.
func (d *doc) name(i int) []byte { return plain(d.src[d.nodes[i].keyStart:d.nodes[i].keyEnd]) }

// text is a string value. Empty: the value is no string, or i is 0, which stands for a member that is not there.
func (d *doc) text(i int) []byte {
	if i == 0 || d.nodes[i].kind != '"' {
		return nil
	}
	return plain(d.src[d.nodes[i].start+1 : d.nodes[i].end-1])
}

// within returns where a string value is, within its quotes.
func (d *doc) within(i int) (start, end int) {
	return int(d.nodes[i].start) + 1, int(d.nodes[i].end) - 1
}

// after returns the first node after a value and all within it.
func (d *doc) after(i int) int { return int(d.nodes[i].next) }

// members calls f with each value in an object or an array.
func (d *doc) members(i int, f func(m int)) {
	if d.nodes[i].kind != '{' && d.nodes[i].kind != '[' {
		return
	}
	for m := i + 1; m < d.after(i); m = d.after(m) {
		f(m)
	}
}

// member returns the last value with this name. 0: there is none, or i is 0 and no object.
func (d *doc) member(i int, name string) int {
	found := 0
	if i >= len(d.nodes) || d.nodes[i].kind != '{' {
		return 0
	}
	for m := i + 1; m < d.after(i); m = d.after(m) {
		if string(d.name(m)) == name {
			found = m
		}
	}
	return found
}

// inside is a member of a member. 0: there is none.
func (d *doc) inside(i int, names ...string) int {
	for _, n := range names {
		if i = d.member(i, n); i == 0 {
			return 0
		}
	}
	return i
}

// replace sets the text of a string value.
func (d *doc) replace(i int, with string) {
	start, end := d.within(i)
	d.edits = append(d.edits, edit{start, end, quoted(with)})
}

// exchange replaces a string value that s has.
func (d *doc) exchange(i int, s swap) bool {
	if other, ok := s[string(d.text(i))]; ok {
		d.replace(i, other)
		return true
	}
	return false
}

// head returns the text before the first slash of the string at start..end, where that ends, and whether there is a slash.
func (d *doc) head(start, end int) (head []byte, headEnd int, slash bool) {
	raw := d.src[start:end]
	if i := bytes.IndexByte(raw, '/'); bytes.IndexByte(raw, '\\') < 0 {
		if i < 0 {
			return raw, end, false
		}
		return raw[:i], start + i, true
	}
	for i := 0; i < len(raw); i++ {
		n := 1
		switch {
		case raw[i] == '/':
			return plain(raw[:i]), start + i, true
		case raw[i] == '\\':
			if i+1 < len(raw) && raw[i+1] == 'u' {
				n = 5
			}
			if string(plain(raw[i:min(i+n+1, len(raw))])) == "/" {
				return plain(raw[:i]), start + i, true
			}
			i += n
		}
	}
	return plain(raw), end, false
}

// exchangeHead replaces the text before the first slash of a string value, or all of it, if s has it.
func (d *doc) exchangeHead(i int, s swap) {
	if i == 0 || d.nodes[i].kind != '"' {
		return
	}
	start, end := d.within(i)
	head, end, _ := d.head(start, end)
	if other, ok := s[string(head)]; ok {
		d.edits = append(d.edits, edit{start, end, quoted(other)})
	}
}

// key exchanges the key at start..end, within its quotes.
func (d *doc) key(start, end int) {
	head, headEnd, slash := d.head(start, end)
	if other, ok := d.r.prefixes[string(head)]; ok && slash {
		d.edits = append(d.edits, edit{start, headEnd, quoted(other)})
		return
	}
	if len(d.r.keys) > 0 {
		if other, ok := d.r.keys[string(plain(d.src[start:end]))]; ok {
			d.edits = append(d.edits, edit{start, end, quoted(other)})
		}
	}
}

// keyValue exchanges a key that is a string value.
func (d *doc) keyValue(i int) {
	if i != 0 && d.nodes[i].kind == '"' {
		d.key(d.within(i))
	}
}
