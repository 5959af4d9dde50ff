// This file renames the paths and queries of requests. It does not change how other segments of a path are escaped.

package apirewrite

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// A Target is the object or the resource that a request is about.
type Target struct {
	// API reports whether the path is below /api or /apis. No other path is renamed.
	API bool
	// Group and Resource are in the sender's words. Group is empty for Kubernetes' core group.
	Group, Resource string
	// Name is the name of the object. Empty: the request is about all objects of the resource.
	Name string
	// Subresource is empty for a request about the object itself.
	Subresource string
	// Watch reports whether the answer is a stream of events.
	Watch bool
}

// Opaque reports whether requests and answers are never renamed: the path is not below /api or /apis, or the API server
// only forwards to another server.
func (t Target) Opaque() bool { return !t.API || t.Subresource == "proxy" }

// Object returns the object that the request names.
func (t Target) Object() Object { return Object{t.Group, t.Resource, t.Name} }

func (t Target) kind() Kind {
	if t.Resource == "events" {
		return Kind{t.Group, "Event"}
	}
	return Kind{t.Group, t.Resource}
}

// definition reports whether the request is about a CustomResourceDefinition or an APIService.
func (t Target) definition() bool { return namingOf(t.Group, t.Resource) != byNothing }

// Path returns the renamed path of a request, and its target. path is escaped.
func (r *Rules) Path(path string) (string, Target) {
	raw := strings.Split(path, "/")
	segments := make([]string, len(raw))
	for i, s := range raw {
		var err error
		if segments[i], err = url.PathUnescape(s); err != nil {
			segments[i] = s
		}
	}
	var t Target
	var g *group
	at := 0
	set := func(i int, text string) {
		if text != segments[i] {
			raw[i] = url.PathEscape(text)
		}
	}
	switch {
	case len(segments) > 2 && segments[0] == "" && segments[1] == "apis":
		t.API, t.Group, at = true, segments[2], 4
		if g = r.groups[t.Group]; g != nil {
			set(2, g.other(t.Group))
		}
	case len(segments) > 1 && segments[0] == "" && (segments[1] == "api" || segments[1] == "apis"):
		t.API, at = true, 3
	default:
		return path, t
	}
	if at < len(segments) && segments[at] == "watch" {
		t.Watch = true
		at++
	}
	if at+2 < len(segments) && segments[at] == "namespaces" && segments[at+2] != "status" && segments[at+2] != "finalize" && segments[at+2] != "" {
		at += 2
	}
	if at >= len(segments) {
		return strings.Join(raw, "/"), t
	}
	t.Resource = segments[at]
	if g != nil {
		if other, ok := g.resources[t.Resource]; ok {
			set(at, other)
		}
	}
	if at+1 < len(segments) {
		t.Name = segments[at+1]
		set(at+1, r.qualified(namingOf(t.Group, t.Resource), t.Name))
	}
	if at+2 < len(segments) {
		t.Subresource = segments[at+2]
	}
	return strings.Join(raw, "/"), t
}

// Query returns a query with renamed selectors, and reports whether it asks for a watch. A query without a word of the rules
// does not change. Neither does a selector that cannot be parsed: the API server reports the mistake.
func (r *Rules) Query(query string, t Target) (string, bool) {
	values, err := url.ParseQuery(query)
	watch := false
	if v, ok := values["watch"]; ok {
		// Only these two values are false, as in Kubernetes.
		watch = !strings.EqualFold(v[0], "false") && v[0] != "0"
	}
	if err != nil {
		return query, watch
	}
	changed := false
	for name, rename := range map[string]func(string, Target) string{"labelSelector": r.labelSelector, "fieldSelector": r.fieldSelector} {
		for i, v := range values[name] {
			if other := rename(v, t); other != v {
				values[name][i], changed = other, true
			}
		}
	}
	if !changed {
		return query, watch
	}
	return values.Encode(), watch
}

// labelSelector returns text, a label selector, with renamed keys.
func (r *Rules) labelSelector(text string, _ Target) string {
	d := doc{src: []byte(text), edits: r.keysOf(text)}
	return string(d.write(nil))
}

// keysOf returns edits that rename the keys in text, a label selector. If text is not a label selector, it returns none.
func (r *Rules) keysOf(text string) (edits []edit) {
	if !r.HasWord([]byte(text)) {
		return nil
	}
	if _, err := labels.ParseToRequirements(text); err != nil {
		return nil
	}
	inValues, begins := false, true // whether i is in the values of a requirement, or at its beginning
	for i := 0; i < len(text); i++ {
		j := i
		for j < len(text) && !strings.ContainsRune(" \t\r\n,!=<>()", rune(text[j])) {
			j++
		}
		switch {
		case j > i:
			if other, ok := r.key(text[i:j]); ok && begins {
				edits = append(edits, edit{i, j, other})
			}
			begins, i = false, j-1
		case text[i] == '(':
			inValues = true
		case text[i] == ')':
			inValues = false
		case text[i] == ',':
			begins = !inValues
		}
	}
	return edits
}

func (r *Rules) fieldSelector(text string, t Target) string {
	parsed, err := fields.ParseSelector(text)
	if err != nil {
		return text
	}
	kinds := r.kindsOf(parsed.Requirements())
	renamed, err := parsed.Transform(func(field, value string) (string, string, error) {
		switch {
		case field == "metadata.name":
			value = r.qualified(namingOf(t.Group, t.Resource), value)
		case strings.HasSuffix(field, "piVersion"):
			if groupName, version, ok := strings.Cut(value, "/"); ok && r.groups[groupName] != nil {
				value = r.groups[groupName].other(groupName) + "/" + version
			}
		case strings.HasSuffix(field, ".kind") && kinds[value] != "":
			value = kinds[value]
		}
		return field, value, nil
	})
	if err != nil || renamed.String() == parsed.String() {
		return text
	}
	return renamed.String()
}

// kindsOf returns the kinds of the group in a field selector. If the selector contains no group, as in kubectl's for the
// events of an object, kindsOf returns the kinds of all groups.
func (r *Rules) kindsOf(all fields.Requirements) swap {
	for _, one := range all {
		if strings.HasSuffix(one.Field, "piVersion") {
			groupName, _, _ := strings.Cut(one.Value, "/")
			if g := r.groups[groupName]; g != nil {
				return g.kinds
			}
			return nil
		}
	}
	return r.kinds
}
