// This file has the fields of a kind to decode, as a tree, with their positions in the Go type.

package lenient

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A projection is a tree of fields. Without members, it stands for a whole value.
type projection struct {
	path string
	// list is true for a JSON array whose elements have the members.
	list    bool
	members map[string]*projection
	// field is the index of the value in the Go struct of its object, or of the root if ofRoot is true. Empty: the
	// object is a map, or the Go types lack the field.
	field  []int
	ofRoot bool
}

// pathTag is the struct tag of fields in the root type that the imported types lack. The tag is the path of the value in JSON.
const pathTag = "path"

// project returns the projection of objects of type root to paths: names joined by dots. A name that ends with "[]" is
// a list. The annotation of the bookmark that ends a watch's initial
// events is always included: caches wait for it.
func project(root reflect.Type, paths ...string) *projection {
	out := &projection{}
	for _, path := range paths {
		out.add(root, root, strings.Split(path, "."))
	}
	if out.members["metadata"].members["annotations"] == nil {
		out.add(root, root, []string{"metadata", "annotations", metav1.InitialEventsAnnotationKey})
	}
	return out
}

// add adds the path names to p. Parameter of is the Go type of p. If neither this type nor root has the field, add
// panics.
func (p *projection) add(root, of reflect.Type, names []string) {
	name, list := strings.CutSuffix(names[0], "[]")
	member := p.members[name]
	if member == nil {
		member = &projection{path: strings.TrimPrefix(p.path+"."+names[0], "."), list: list}
		if p.members == nil {
			p.members = map[string]*projection{}
		}
		p.members[name] = member
	}
	typ := member.locate(root, of, name)
	switch {
	case len(names) > 1:
		member.add(root, typ, names[1:])
	case typ == nil:
		panic(fmt.Sprintf("lenient: %s has no field %s", root, member.path))
	}
}

// locate sets p.field to the position of member name in the Go type of its parent, parameter of. If this type lacks the
// member, locate searches root for p.path. It returns the Go type of the member, or nil if neither type has it. If the
// parent is a map, it sets nothing and returns the type of the map's values.
func (p *projection) locate(root, of reflect.Type, name string) reflect.Type {
	for of != nil && (of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice) {
		of = of.Elem()
	}
	if of != nil && of.Kind() == reflect.Map {
		return of.Elem()
	}
	if of != nil {
		for _, f := range reflect.VisibleFields(of) {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
				p.field = f.Index
				return f.Type
			}
		}
	}
	for _, f := range reflect.VisibleFields(root) {
		if f.Tag.Get(pathTag) == p.path {
			p.field, p.ofRoot = f.Index, true
			return f.Type
		}
	}
	return nil
}
