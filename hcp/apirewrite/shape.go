// This file decides what is renamed in objects of any kind, by the names of their members.

package apirewrite

import (
	"bytes"
	"slices"
	"strings"
)

// A role says what the member names of an object, or the strings in an array, mean. In the comments below, names are member
// names, and strings are those in an array.
type role int

const (
	plainRole  role = iota
	keyNames        // labels, annotations and selectors: names are keys
	fieldNames      // managedFields: names are paths to fields
	dataNames       // data: names are chosen by the user, and a value may be a whole object
	keyList         // finalizers: strings are keys
	keyedList       // tolerations and a StorageClass's topologies: each object has a key, also without an operator
	quotaNames      // a ResourceQuota: names may be "count/resource.group"
	groupList       // apiGroups: strings are groups
)

// roleOf returns the role of the value of the member with this name. within is the role of the object that contains it.
func roleOf(name []byte, within role) role {
	if within == fieldNames {
		return fieldNames
	}
	if len(name) > 0 && name[0] == '$' { // A directive of a strategic merge patch: the field's name follows a slash.
		name = name[bytes.IndexByte(name, '/')+1:]
	}
	switch string(name) {
	case "labels", "annotations", "nodeSelector", "matchLabels", "selector":
		return keyNames
	case "fieldsV1":
		return fieldNames
	case "data", "stringData", "binaryData":
		return dataNames
	case "finalizers", "matchLabelKeys", "mismatchLabelKeys", "topologyKeys":
		return keyList
	case "apiGroups":
		return groupList
	case "hard", "used":
		return quotaNames
	case "tolerations", "matchLabelExpressions":
		return keyedList
	}
	return plainRole
}

func (d *doc) value(i int, r role) {
	switch d.nodes[i].kind {
	case '{':
		d.object(i, r)
	case '[':
		d.members(i, func(m int) {
			switch {
			case d.nodes[m].kind == '{' && r == keyedList:
				d.object(m, r)
			case d.nodes[m].kind != '"':
				d.value(m, plainRole)
			case r == keyList:
				d.keyValue(m)
			case r == groupList:
				d.groupName(m)
			}
		})
	}
}

// A shape contains the members of one object whose meaning depends on each other, as indices of nodes. 0: the object does
// not have the member.
type shape struct {
	apiVersion, kind, group, apiGroup, resource, apiGroups, resources, resourceNames, key, name int
	// inAPI is true if other members show that the value of member group is an API group. expression is true if they
	// show that the value of member key is a key.
	inAPI, expression bool
}

func (d *doc) object(i int, r role) {
	s := shape{expression: r == keyedList}
	for m := i + 1; m < d.after(i); m = d.after(m) {
		n := d.nodes[m]
		name := d.name(m)
		switch r {
		case keyNames:
			d.key(int(n.keyStart), int(n.keyEnd))
			if n.kind == '"' && string(name) == lastApplied {
				d.embedded(m)
			}
		case fieldNames:
			d.field(int(n.keyStart), int(n.keyEnd))
		case quotaNames:
			if counted, ok := strings.CutPrefix(string(name), "count/"); ok {
				if other := d.r.qualified(byResource, counted); other != counted {
					d.edits = append(d.edits, edit{int(n.keyStart), int(n.keyEnd), quoted("count/" + other)})
				}
			}
		}
		if n.kind == '{' || n.kind == '[' {
			d.value(m, roleOf(name, r))
		}
		if r == plainRole || r == keyedList || r == dataNames && (string(name) == "apiVersion" || string(name) == "kind") {
			s.see(name, m, n.kind)
			d.alone(name, m, n.kind)
		}
	}
	d.shape(s)
}

// lastApplied is the annotation that contains the object as a client applied it. At each server-side apply of an object
// with this annotation, the API server writes it again, with its own escapes.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// embedded renames in the object that string i contains.
func (d *doc) embedded(i int) {
	inner, ok := d.inner(d.text(i))
	if !ok {
		return
	}
	inner.value(0, plainRole)
	inner.special(0, Kind{})
	start, end := d.within(i)
	d.nest(start, end, &inner)
}

func (s *shape) see(name []byte, m int, kind byte) {
	switch string(name) {
	case "resource":
		s.resource, s.inAPI = m, true
	case "kind":
		s.kind, s.inAPI = m, true
	case "version", "versions", "names", "responseKind":
		s.inAPI = true
	case "apiVersion":
		s.apiVersion = m
	case "group":
		s.group = m
	case "apiGroup":
		s.apiGroup = m
	case "apiGroups":
		s.apiGroups = m
	case "resources":
		s.resources = m
	case "resourceNames":
		s.resourceNames = m
	case "name":
		s.name = m
	case "key":
		s.key = m
	case "operator", "effect":
		s.expression = s.expression || kind == '"'
	}
}

// alone renames member m if its name alone shows what its value means.
func (d *doc) alone(name []byte, m int, kind byte) {
	if kind != '"' {
		return
	}
	switch string(name) {
	case "apiVersion", "groupVersion":
		d.groupVersion(m)
	case "apiGroup":
		d.groupName(m)
	case "topologyKey":
		d.keyValue(m)
	case "fieldPath":
		d.fieldPath(m)
	case "selector", "labelSelector", "rawSelector":
		d.selector(m)
	}
}

// longestSelector limits label selectors of bodies that are renamed, in bytes: a parsed selector needs 400 times its size.
const longestSelector = 4 << 10

// selector renames the keys in string m, a label selector, as in the status of a Scale. A long one stays as it is.
func (d *doc) selector(m int) {
	text := d.text(m)
	if len(text) > longestSelector {
		return
	}
	if edits := d.r.keysOf(string(text)); len(edits) > 0 {
		start, end := d.within(m)
		d.nest(start, end, &doc{src: text, edits: edits})
	}
}

// fieldPath renames the key in string m, a path of the downward API: metadata.labels['key'].
func (d *doc) fieldPath(m int) {
	text := string(d.text(m))
	for _, field := range []string{"metadata.labels['", "metadata.annotations['"} {
		if key, ok := strings.CutPrefix(text, field); ok && strings.HasSuffix(key, "']") {
			if other, ok := d.r.key(strings.TrimSuffix(key, "']")); ok {
				d.replace(m, field+other+"']")
			}
		}
	}
}

func (d *doc) groupName(m int) {
	name := string(d.text(m))
	if g := d.r.groups[name]; g != nil && d.nodes[m].kind == '"' {
		d.replace(m, g.other(name))
	}
}

// groupVersion renames the group in string m, "group/version".
func (d *doc) groupVersion(m int) {
	start, end := d.within(m)
	head, end, slash := d.head(start, end)
	if g := d.r.groups[string(head)]; g != nil && slash {
		d.edits = append(d.edits, edit{start, end, g.other(string(head))})
	}
}

// groupOf returns the group in string apiVersion, "group/version". Nil: the group has no rule.
func (d *doc) groupOf(apiVersion int) *group {
	if apiVersion == 0 || d.nodes[apiVersion].kind != '"' {
		return nil
	}
	head, _, slash := d.head(d.within(apiVersion))
	if !slash {
		return nil
	}
	return d.r.groups[string(head)]
}

// shape renames the members in s.
func (d *doc) shape(s shape) {
	if s.key != 0 && s.expression {
		d.keyValue(s.key)
	}
	if s.apiGroups != 0 && s.resources != 0 {
		d.policy(s)
	}
	named := s.apiGroup
	if s.group != 0 && s.inAPI {
		d.groupName(s.group)
		named = s.group
	}
	g := d.groupOf(s.apiVersion)
	if g == nil && named != 0 {
		g = d.r.groups[string(d.text(named))]
	}
	if named != 0 && s.resource != 0 && s.name != 0 {
		d.objectName(s.name, namingOf(string(d.text(named)), string(d.text(s.resource))))
	}
	if g == nil {
		return
	}
	if s.kind != 0 && !d.exchange(s.kind, g.kinds) {
		d.exchange(s.kind, g.resources) // In the details of a Status, "kind" is a resource.
	}
	if named != 0 && s.resource != 0 {
		d.exchangeHead(s.resource, g.resources)
	}
}

// policy renames the resources of a rule with apiGroups, as in a Role or a webhook configuration. It reads each group and
// each resource once, because a body may contain a million of them.
func (d *doc) policy(s shape) {
	var groups []*group
	definitions, services := false, false
	d.members(s.apiGroups, func(m int) {
		text := string(d.text(m))
		if g := d.r.groups[text]; g != nil && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		definitions = definitions || text == definitionGroup
		services = services || text == serviceGroup
	})
	by := byNothing
	d.members(s.resources, func(m int) {
		if d.nodes[m].kind != '"' {
			return
		}
		head, _, _ := d.head(d.within(m))
		if n := namingOf(definitionGroup, string(head)); definitions && n != byNothing {
			by = n
		}
		if n := namingOf(serviceGroup, string(head)); services && n != byNothing {
			by = n
		}
		for _, g := range groups {
			if _, ok := g.resources[string(head)]; ok {
				d.exchangeHead(m, g.resources)
				return
			}
		}
	})
	if s.resourceNames != 0 {
		d.members(s.resourceNames, func(m int) { d.objectName(m, by) })
	}
}

func (d *doc) objectName(i int, by naming) {
	if i == 0 || by == byNothing {
		return
	}
	name := string(d.text(i))
	if other := d.r.qualified(by, name); other != name {
		d.replace(i, other)
	}
}

// field renames in the member name at start..end of managedFields: f:KEY, v:"KEY", or k:{...}.
func (d *doc) field(start, end int) {
	if end-start < 3 || d.src[start+1] != ':' {
		return
	}
	switch d.src[start] {
	case 'f':
		d.key(start+2, end)
	case 'v', 'k':
		text := plain(d.src[start+2 : end])
		inner, ok := d.inner(text)
		if !ok {
			return
		}
		if d.src[start] == 'v' && inner.nodes[0].kind == '"' {
			inner.key(inner.within(0))
		} else {
			inner.value(0, plainRole)
		}
		d.nest(start+2, end, &inner)
	}
}
