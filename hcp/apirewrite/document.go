// This file parses one valid JSON document into a flat list of values with their positions, and writes the document
// with some values replaced. Every other byte is copied.

package apirewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// anyJSON accepts the invalid JSON that API servers accept.
var anyJSON = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

var errSyntax = errors.New("the document is not valid JSON")

// A node is one value. Nodes have the order of the document: the node of an object is followed by those of its members.
// Code in this package identifies a value by the index of its node, i or m. Index 0 is the whole document, which is no
// member. So index 0 in place of a member's means that the member is missing.
type node struct {
	start, end       int32 // position of the value in the text; of a string, with its quotes
	keyStart, keyEnd int32 // position of the member's name, without its quotes; equal if there is no name, or an empty one
	next             int32 // the first node that is not inside this value
	kind             byte
}

type edit struct {
	start, end int
	with       string
}

// nodeSize and editSize are the sizes of a node and an edit in memory, in bytes.
const nodeSize, editSize = 24, 32

// A doc is one document with the edits found so far.
type doc struct {
	r         *Rules
	direction Direction
	src       []byte
	nodes     []node
	edits     []edit
}

// read parses src, or returns errSyntax. It reuses the memory of the previous document.
func (d *doc) read(src []byte) error {
	if !jsontext.Value(src).IsValid(anyJSON...) {
		return errSyntax
	}
	d.parse(src)
	return nil
}

// parse sets the nodes of d to the values in src, which must be valid JSON.
func (d *doc) parse(src []byte) {
	d.src, d.nodes, d.edits = src, d.nodes[:0], d.edits[:0]
	d.add(space(src, 0), 0, 0)
}

func space(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	return i
}

// add adds nodes for the value at position i and the values inside it, and returns the position after it.
func (d *doc) add(i, keyStart, keyEnd int) int {
	at := len(d.nodes)
	d.nodes = append(d.nodes, node{start: int32(i), keyStart: int32(keyStart), keyEnd: int32(keyEnd), kind: d.src[i]})
	switch d.src[i] {
	case '"':
		i = stringEnd(d.src, i)
	case '{':
		for i = space(d.src, i+1); d.src[i] != '}'; {
			keyStart, keyEnd = i+1, stringEnd(d.src, i)-1
			colon := space(d.src, keyEnd+1)
			i = d.next(d.add(space(d.src, colon+1), keyStart, keyEnd))
		}
		i++
	case '[':
		for i = space(d.src, i+1); d.src[i] != ']'; {
			i = d.next(d.add(i, 0, 0))
		}
		i++
	default:
		for i < len(d.src) && !strings.ContainsRune(" \n\r\t,]}", rune(d.src[i])) {
			i++
		}
	}
	d.nodes[at].end, d.nodes[at].next = int32(i), int32(len(d.nodes))
	return i
}

// next returns the position of the value or the bracket after a value that ends at position i.
func (d *doc) next(i int) int {
	if i = space(d.src, i); d.src[i] == ',' {
		return space(d.src, i+1)
	}
	return i
}

// stringEnd returns the position after the string at position i.
func stringEnd(src []byte, i int) int {
	for i++; src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func (d *doc) write(out []byte) []byte {
	slices.SortStableFunc(d.edits, func(a, b edit) int { return a.start - b.start })
	at := 0
	for _, e := range d.edits {
		if e.start < at {
			continue // The value of a duplicate name may have two edits. The first one counts.
		}
		out = append(append(out, d.src[at:e.start]...), e.with...)
		at = e.end
	}
	return append(out, d.src[at:]...)
}

// plain returns the text of a JSON string, without its quotes and with escapes replaced. Text that cannot be in a rule, such
// as a lone surrogate, may change.
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

// quoted returns text as the content of a JSON string, without quotes, and escaped as API servers do.
func quoted(text string) string {
	if strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }) < 0 {
		return text
	}
	quotes, _ := json.Marshal(text) // Marshal of a string never fails.
	return string(quotes[1 : len(quotes)-1])
}

// inner parses text, the content of a string in d, as a document. It returns false if text is not valid JSON.
func (d *doc) inner(text []byte) (doc, bool) {
	out := doc{r: d.r, direction: d.direction}
	err := out.read(text)
	return out, err == nil
}

// nest adds the edits of inner to d as one edit. inner is the content of the string at start..end in d.
func (d *doc) nest(start, end int, inner *doc) {
	if len(inner.edits) > 0 {
		d.edits = append(d.edits, edit{start, end, quoted(string(inner.write(nil)))})
	}
}

func (d *doc) name(i int) []byte { return plain(d.src[d.nodes[i].keyStart:d.nodes[i].keyEnd]) }

// text returns the content of string i. Empty: the value is not a string, or i is 0.
func (d *doc) text(i int) []byte {
	if i == 0 || d.nodes[i].kind != '"' {
		return nil
	}
	return plain(d.src[d.nodes[i].start+1 : d.nodes[i].end-1])
}

// within returns the position of string i without its quotes.
func (d *doc) within(i int) (start, end int) {
	return int(d.nodes[i].start) + 1, int(d.nodes[i].end) - 1
}

// after returns the index of the first node after value i and the values inside it.
func (d *doc) after(i int) int { return int(d.nodes[i].next) }

func (d *doc) members(i int, f func(m int)) {
	if d.nodes[i].kind != '{' && d.nodes[i].kind != '[' {
		return
	}
	for m := i + 1; m < d.after(i); m = d.after(m) {
		f(m)
	}
}

// member returns the last member of object i with this name. 0: there is none, or i is not an object.
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

// inside returns the member of i at a path of names. 0: there is none.
func (d *doc) inside(i int, names ...string) int {
	for _, n := range names {
		if i = d.member(i, n); i == 0 {
			return 0
		}
	}
	return i
}

func (d *doc) replace(i int, with string) {
	start, end := d.within(i)
	d.edits = append(d.edits, edit{start, end, quoted(with)})
}

// exchange replaces string i if s contains another word for it. It reports whether it did.
func (d *doc) exchange(i int, s swap) bool {
	if other, ok := s[string(d.text(i))]; ok {
		d.replace(i, other)
		return true
	}
	return false
}

// head returns the text before the first slash of the string at start..end, the position where this text ends, and
// whether there is a slash.
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

// exchangeHead replaces the head of string i: the text before the first slash, or all text if there is no slash. If s
// contains no other word for the head, it does nothing.
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

// keyValue renames string i, which is a key.
func (d *doc) keyValue(i int) {
	if i != 0 && d.nodes[i].kind == '"' {
		d.key(d.within(i))
	}
}
