// This file keeps of a JSON object the fields with given paths.

package lenient

import (
	"bytes"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A projection is a tree of the fields to keep. A projection without members keeps the whole value.
type projection struct {
	// list is true for a JSON array whose elements have the members.
	list bool
	// presence is true where only the existence of an object matters.
	presence bool
	members  map[string]*projection
}

// project returns the projection to paths: names that are joined by dots. A name that ends
// with "[]" is a list, and a path that ends with "{}" keeps only that an object is there.
func project(paths ...string) *projection {
	root := &projection{}
	for _, path := range paths {
		at := root
		for name := range strings.SplitSeq(path, ".") {
			plain, list := strings.CutSuffix(name, "[]")
			plain, presence := strings.CutSuffix(plain, "{}")
			if at.members == nil {
				at.members = map[string]*projection{}
			}
			if at.members[plain] == nil {
				at.members[plain] = &projection{}
			}
			at = at.members[plain]
			at.list, at.presence = at.list || list, at.presence || presence
		}
	}
	return root.withBookmarks()
}

// withBookmarks returns p, with the annotation that marks the end of a watch's initial events. Without
// it, caches are never in sync.
func (p *projection) withBookmarks() *projection {
	meta := p.members["metadata"]
	if meta == nil || meta.members["annotations"] != nil {
		return p
	}
	meta.members["annotations"] = &projection{members: map[string]*projection{metav1.InitialEventsAnnotationKey: {}}}
	return p
}

// keep appends to out the fields of value that p keeps. A list or object of another type becomes
// null, and bad has its path.
func (p *projection) keep(out *bytes.Buffer, value []byte, path string, bad *[]Unreadable) {
	switch {
	case string(value) == "null", p.members == nil && !p.presence:
		out.Write(value)
	case p.presence:
		out.WriteString("{}")
	case p.list && value[0] == '[':
		p.keepElements(out, value, path, bad)
	case !p.list && value[0] == '{':
		p.keepMembers(out, value, path, bad)
	default:
		*bad = append(*bad, Unreadable{Field: path, Err: fmt.Sprintf("want %s, not %s", p.want(), typeOf(value))})
		out.WriteString("null")
	}
}

func (p *projection) keepElements(out *bytes.Buffer, value []byte, path string, bad *[]Unreadable) {
	of := &projection{members: p.members}
	separator := byte('[')
	elements(value, func(element []byte) {
		out.WriteByte(separator)
		of.keep(out, element, path, bad)
		separator = ','
	})
	if separator == '[' {
		out.WriteByte('[')
	}
	out.WriteByte(']')
}

func (p *projection) keepMembers(out *bytes.Buffer, value []byte, path string, bad *[]Unreadable) {
	separator := byte('{')
	members(value, func(name string, member []byte) {
		of := p.members[name]
		if of == nil {
			return
		}
		out.WriteByte(separator)
		fmt.Fprintf(out, "%q:", name)
		of.keep(out, member, join(path, name, of), bad)
		separator = ','
	})
	if separator == '{' {
		out.WriteByte('{')
	}
	out.WriteByte('}')
}

// leaves calls do with the path of each field that is kept whole, and the projection to it alone.
func (p *projection) leaves(do func(path string, alone *projection)) { p.leavesBelow("", do) }

func (p *projection) leavesBelow(path string, do func(path string, alone *projection)) {
	for name, of := range p.members {
		wrapped := func(below string, alone *projection) {
			do(below, &projection{list: p.list, members: map[string]*projection{name: alone}})
		}
		if below := join(path, name, of); of.members == nil {
			wrapped(below, of)
		} else {
			of.leavesBelow(below, wrapped)
		}
	}
}

// without returns p without the field at path.
func (p *projection) without(path string) *projection {
	out := &projection{list: p.list, presence: p.presence, members: map[string]*projection{}}
	name, rest, below := strings.Cut(path, ".")
	plain := strings.TrimSuffix(name, "[]")
	for member, of := range p.members {
		switch {
		case member != plain:
			out.members[member] = of
		case below:
			out.members[member] = of.without(rest)
		}
	}
	return out
}

func (p *projection) want() string {
	if p.list {
		return "a list"
	}
	return "an object"
}

// join returns the path of member name of path.
func join(path, name string, of *projection) string {
	if of.list {
		name += "[]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// typeOf names the type of a JSON value.
func typeOf(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}
