// This file decides what else is renamed in some kinds, which shape.go cannot recognize by members: discovery,
// CustomResourceDefinitions, Tables, Status, and the patch in an AdmissionReview.

package apirewrite

import (
	"encoding/base64"
	"strings"
)

// A Kind is a kind and its group. It is passed along for objects that do not contain their kind: items of a list, or a patch.
type Kind struct{ Group, Kind string }

// namesOthers reports whether cells in a Table of this kind name other objects, as "kind/name" or "kind.group/name".
func (k Kind) namesOthers() bool {
	return k.Kind == "Event" || k == Kind{"apps", "controllerrevisions"}
}

// kindOf returns the kind that object i contains. If it contains none, or only PartialObjectMetadata, kindOf returns
// parameter of.
func (d *doc) kindOf(i int, of Kind) Kind {
	version, kind := d.member(i, "apiVersion"), d.member(i, "kind")
	if version == 0 || kind == 0 || string(d.text(kind)) == "PartialObjectMetadata" {
		return of
	}
	groupName, _, ok := strings.Cut(string(d.text(version)), "/")
	if !ok {
		groupName = ""
	}
	return Kind{groupName, string(d.text(kind))}
}

// special renames what is particular to the kind of object i. If kindOf finds no kind in the object, parameter of is its
// kind.
func (d *doc) special(i int, of Kind) {
	if d.nodes[i].kind != '{' {
		return
	}
	kind := d.kindOf(i, of)
	switch {
	case namingOf(kind.Group, kind.Kind) != byNothing:
		d.objectName(d.inside(i, "metadata", "name"), namingOf(kind.Group, kind.Kind))
		d.definition(i)
	case kind.Kind == "Status" && kind.Group == "":
		d.status(i)
	case kind.Kind == "APIGroup":
		d.groupName(d.member(i, "name"))
	case kind.Kind == "APIGroupList":
		d.each(i, "groups", func(m int) {
			if n := d.member(m, "name"); n != 0 {
				d.groupName(n)
			}
		})
	case kind.Kind == "APIResourceList":
		d.resourceList(i)
	case kind.Kind == "APIGroupDiscovery":
		d.discovered(i)
	case kind.Kind == "Table":
		d.each(i, "rows", func(m int) { d.row(m, of) })
	case kind.Kind == "AdmissionReview":
		d.review(i)
	case strings.HasSuffix(kind.Kind, "List"):
		d.each(i, "items", func(m int) { d.special(m, itemKind(kind)) })
	}
}

func itemKind(list Kind) Kind {
	list.Kind = strings.TrimSuffix(list.Kind, "List")
	return list
}

// each calls f for every value in the array or object that is the member of i with this name. If there is no such
// member, it does nothing.
func (d *doc) each(i int, name string, f func(m int)) {
	if list := d.member(i, name); list != 0 {
		d.members(list, f)
	}
}

func (d *doc) definition(i int) {
	g := d.r.groups[string(d.text(d.inside(i, "spec", "group")))]
	if g == nil {
		_, name, _ := strings.Cut(string(d.text(d.inside(i, "metadata", "name"))), ".")
		g = d.r.groups[name]
	}
	if g == nil {
		return
	}
	for _, names := range []int{d.inside(i, "spec", "names"), d.inside(i, "status", "acceptedNames")} {
		if names != 0 {
			d.definedNames(names, g)
		}
	}
}

func (d *doc) definedNames(i int, g *group) {
	for _, n := range []string{"plural", "singular"} {
		d.exchange(d.member(i, n), g.resources)
	}
	for _, n := range []string{"kind", "listKind"} {
		d.exchange(d.member(i, n), g.kinds)
	}
}

func (d *doc) status(i int) {
	details := d.member(i, "details")
	if details != 0 {
		d.objectName(d.member(details, "name"), namingOf(string(d.text(d.member(details, "group"))), string(d.text(d.member(details, "kind")))))
	}
	if d.direction != ToClient {
		return
	}
	d.message(d.member(i, "message"))
	if details != 0 {
		d.each(details, "causes", func(m int) { d.message(d.member(m, "message")) })
	}
}

func (d *doc) message(i int) {
	text := string(d.text(i))
	if other := d.r.Message(text); other != text {
		d.replace(i, other)
	}
}

// resourceList renames in object i, an APIResourceList: the discovery of one group.
func (d *doc) resourceList(i int) {
	g := d.groupOf(d.member(i, "groupVersion"))
	if g == nil {
		return
	}
	d.each(i, "resources", func(m int) {
		d.exchangeHead(d.member(m, "name"), g.resources)
		d.exchange(d.member(m, "singularName"), g.resources)
		if d.member(m, "group") == 0 {
			d.exchange(d.member(m, "kind"), g.kinds)
		}
	})
}

func (d *doc) discovered(i int) {
	name := d.inside(i, "metadata", "name")
	g := d.r.groups[string(d.text(name))]
	if g == nil {
		return
	}
	d.groupName(name)
	d.each(i, "versions", func(version int) {
		d.each(version, "resources", func(m int) {
			d.exchange(d.member(m, "resource"), g.resources)
			d.exchange(d.member(m, "singularResource"), g.resources)
		})
	})
}

// row renames in row i of a Table of objects of this kind. If it renames the object, it also renames the cell with its name.
func (d *doc) row(i int, of Kind) {
	object := d.member(i, "object")
	name := d.inside(i, "object", "metadata", "name")
	by := namingOf(of.Group, of.Kind)
	if object != 0 && by == byNothing {
		d.special(object, of)
	}
	old := d.rowName(i)
	other := d.r.qualified(by, old)
	d.each(i, "cells", func(m int) {
		switch text := string(d.text(m)); {
		case text == "":
		case by != byNothing && text == old && text != other:
			d.replace(m, other)
		case of.namesOthers() && d.direction == ToClient:
			if head, tail, ok := strings.Cut(text, "/"); ok && d.r.word(head) != head {
				d.replace(m, d.r.word(head)+"/"+tail)
			}
		}
	})
	if name != 0 && by != byNothing {
		d.objectName(name, by)
	}
}

// rowName returns the name of the object of row i. If the row does not contain the object, that is the first cell.
func (d *doc) rowName(i int) string {
	if name := d.inside(i, "object", "metadata", "name"); name != 0 {
		return string(d.text(name))
	}
	if cells := d.member(i, "cells"); cells != 0 && d.after(cells) > cells+1 {
		return string(d.text(cells + 1))
	}
	return ""
}

// review renames in object i, an AdmissionReview: what is particular to the kinds of its objects, and the patch.
func (d *doc) review(i int) {
	for _, name := range []string{"object", "oldObject"} {
		if o := d.inside(i, "request", name); o != 0 {
			d.special(o, Kind{})
		}
	}
	patch := d.inside(i, "response", "patch")
	text, err := base64.StdEncoding.DecodeString(string(d.text(patch)))
	if err != nil || len(text) == 0 {
		return
	}
	inner, ok := d.inner(text)
	if !ok {
		return
	}
	inner.jsonPatch(Kind{})
	if len(inner.edits) > 0 {
		d.replace(patch, base64.StdEncoding.EncodeToString(inner.write(nil)))
	}
}

// hidden reports whether the rules hide object i of this resource. i may also be a row of a Table or a watch event, which
// contain the object. The object of an event may be a Table with one row.
func (d *doc) hidden(i int, groupName, resource string) bool {
	if d.member(i, "cells") != 0 && d.r.Hides(Object{groupName, resource, d.rowName(i)}) {
		return true
	}
	if o := d.member(i, "object"); d.member(i, "metadata") == 0 && o != 0 {
		i = o
	}
	if d.r.Hides(Object{groupName, resource, string(d.text(d.inside(i, "metadata", "name")))}) {
		return true
	}
	found := false
	d.each(i, "rows", func(m int) { found = found || d.hidden(m, groupName, resource) })
	return found
}
