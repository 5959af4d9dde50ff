// This file has a slow reference of the rules: on trees, for any document, and with nothing of the engine.

package apirewrite_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	sigsyaml "sigs.k8s.io/yaml"
)

type words map[string]string

func (w words) add(a, b string) { w[a], w[b] = b, a }

func (w words) other(word string) string {
	if other, ok := w[word]; ok {
		return other
	}
	return word
}

// A reference exchanges names, whichever side they are of.
type reference struct {
	groups, prefixes, keys words
	resources, kinds       map[string]words // by either name of their group
}

func newReference(rules string) (reference, error) {
	var text struct {
		Groups []struct {
			Client, Server, KindPrefix, ResourcePrefix string
			Resources                                  map[string]string
		}
		Keys []struct{ Client, Server string }
	}
	r := reference{words{}, words{}, words{}, map[string]words{}, map[string]words{}}
	if err := sigsyaml.Unmarshal([]byte(rules), &text); err != nil {
		return r, err
	}
	for _, g := range text.Groups {
		resources, kinds := words{}, words{}
		for plural, kind := range g.Resources {
			for _, word := range []string{plural, strings.ToLower(kind)} {
				resources.add(word, g.ResourcePrefix+word)
			}
			for _, word := range []string{kind, kind + "List"} {
				kinds.add(word, g.KindPrefix+word)
			}
		}
		r.groups.add(g.Client, g.Server)
		for _, name := range []string{g.Client, g.Server} {
			r.resources[name], r.kinds[name] = resources, kinds
		}
	}
	for _, k := range text.Keys {
		if strings.HasSuffix(k.Client, "/") {
			r.prefixes.add(k.Client, k.Server)
		} else {
			r.keys.add(k.Client, k.Server)
		}
	}
	return r, nil
}

func (r reference) key(key string) string {
	if head, tail, ok := strings.Cut(key, "/"); ok && r.prefixes[head+"/"] != "" {
		return r.prefixes[head+"/"] + tail
	}
	return r.keys.other(key)
}

// groupVersion is "group/version".
func (r reference) groupVersion(text string) string {
	if group, version, ok := strings.Cut(text, "/"); ok {
		return r.groups.other(group) + "/" + version
	}
	return text
}

// resource is "resource" or "resource/subresource".
func (r reference) resource(group, text string) string {
	head, tail, ok := strings.Cut(text, "/")
	if head = r.resources[group].other(head); ok {
		return head + "/" + tail
	}
	return head
}

// named is the name of an object that is named after a group.
func (r reference) named(byResource bool, name string) string {
	head, group, ok := strings.Cut(name, ".")
	if !ok || r.groups[group] == "" {
		return name
	}
	if byResource {
		head = r.resources[group].other(head)
	}
	return head + "." + r.groups[group]
}

func definitions(group, resource string) bool {
	return group == "apiextensions.k8s.io" && (resource == "CustomResourceDefinition" || resource == "customresourcedefinitions")
}

func services(group, resource string) bool {
	return group == "apiregistration.k8s.io" && (resource == "APIService" || resource == "apiservices")
}

// place says what the names, or the strings, below a member are.
func place(name, within string) string {
	if within == "fields" {
		return within
	}
	switch name {
	case "labels", "annotations", "nodeSelector", "matchLabels", "selector", "finalizers", "matchLabelKeys", "mismatchLabelKeys", "topologyKeys":
		return "keys"
	case "tolerations", "matchLabelExpressions":
		return "keyed"
	case "hard", "used":
		return "counts"
	case "fieldsV1":
		return "fields"
	case "data", "stringData", "binaryData":
		return "user"
	case "apiGroups":
		return "groups"
	}
	return ""
}

// value exchanges the names in a value at a place.
func (r reference) value(v any, at string) any {
	switch v := v.(type) {
	case []any:
		out := slices.Clone(v)
		for i, item := range v {
			switch text, isText := item.(string); {
			case isText && at == "keys":
				out[i] = r.key(text)
			case isText && at == "groups":
				out[i] = r.groups.other(text)
			case at == "keyed":
				out[i] = r.value(item, at)
			default:
				out[i] = r.value(item, "")
			}
		}
		return out
	case map[string]any:
		return r.object(v, at)
	}
	return v
}

func text(of map[string]any, name string) string {
	s, _ := of[name].(string)
	return s
}

func (r reference) object(in map[string]any, at string) map[string]any {
	out := map[string]any{}
	for name, v := range in {
		v = r.value(v, place(name, at))
		switch at {
		case "keys":
			if name == "kubectl.kubernetes.io/last-applied-configuration" {
				v = r.embedded(v)
			}
			name = r.key(name)
		case "counts":
			if counted, ok := strings.CutPrefix(name, "count/"); ok {
				name = "count/" + r.named(true, counted)
			}
		case "fields":
			name = r.field(name)
		}
		out[name] = v
	}
	switch at {
	case "", "keyed":
		r.shape(in, out, at)
	case "user":
		r.shape(map[string]any{"apiVersion": in["apiVersion"], "kind": in["kind"]}, out, at)
	}
	return out
}

// shape exchanges members that belong together.
func (r reference) shape(in, out map[string]any, at string) {
	set := func(name, to string) {
		if _, ok := in[name].(string); ok {
			out[name] = to
		}
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { _, ok := in[n]; return ok })
	}
	for _, name := range []string{"apiVersion", "groupVersion"} {
		set(name, r.groupVersion(text(in, name)))
	}
	set("apiGroup", r.groups.other(text(in, "apiGroup")))
	set("topologyKey", r.key(text(in, "topologyKey")))
	_, operator := in["operator"].(string)
	if _, effect := in["effect"].(string); operator || effect || at == "keyed" {
		set("key", r.key(text(in, "key")))
	}
	for _, of := range []string{"metadata.labels['", "metadata.annotations['"} {
		if key, ok := strings.CutPrefix(text(in, "fieldPath"), of); ok && strings.HasSuffix(key, "']") {
			set("fieldPath", of+r.key(strings.TrimSuffix(key, "']"))+"']")
		}
	}
	for _, name := range []string{"selector", "labelSelector", "rawSelector"} {
		if selector := text(in, name); isSelector(selector) { // A value has no slash.
			set(name, regexp.MustCompile(`[\w./-]+`).ReplaceAllStringFunc(selector, r.key))
		}
	}
	group := text(in, "apiGroup")
	if has("group") && has("kind", "resource", "version", "versions", "names", "responseKind") {
		group = text(in, "group")
		set("group", r.groups.other(group))
	}
	switch {
	case definitions(group, text(in, "resource")):
		set("name", r.named(true, text(in, "name")))
	case services(group, text(in, "resource")):
		set("name", r.named(false, text(in, "name")))
	}
	set("resource", r.resource(group, text(in, "resource")))
	if version, _, ok := strings.Cut(text(in, "apiVersion"), "/"); ok && r.groups[version] != "" {
		group = version
	}
	set("kind", r.kinds[group].other(text(in, "kind")))
	r.rule(in, out)
}

func isSelector(text string) bool {
	_, err := labels.Parse(text)
	return err == nil
}

// rule exchanges the resources of a rule with apiGroups.
func (r reference) rule(in, out map[string]any) {
	groups, ok := in["apiGroups"].([]any)
	resources, ok2 := in["resources"].([]any)
	if !ok || !ok2 {
		return
	}
	renamed := slices.Clone(resources)
	names, _ := out["resourceNames"].([]any)
	for _, g := range groups {
		group, _ := g.(string)
		for i, resource := range resources {
			resource, _ := resource.(string)
			if other := r.resource(group, resource); other != resource {
				renamed[i] = other
			}
			head, _, _ := strings.Cut(resource, "/")
			for n := range names {
				if name, ok := names[n].(string); ok && (definitions(group, head) || services(group, head)) {
					names[n] = r.named(definitions(group, head), name)
				}
			}
		}
	}
	out["resources"] = renamed
}

func (r reference) field(name string) string {
	kind, rest, _ := strings.Cut(name, ":")
	switch kind {
	case "f":
		return "f:" + r.key(rest)
	case "k", "v":
		v, err := decode([]byte(rest))
		if err != nil {
			return name
		}
		if key, ok := v.(string); ok && kind == "v" {
			v = r.key(key)
		} else {
			v = r.value(v, "")
		}
		return kind + ":" + encode(v)
	}
	return name
}

// embedded is an object in a string.
func (r reference) embedded(v any) any {
	text, _ := v.(string)
	if inner, err := decode([]byte(text)); err == nil {
		return encode(r.document(inner))
	}
	return v
}

// document exchanges the names in a whole document.
func (r reference) document(v any) any {
	out := r.value(v, "")
	r.special(v, out, "", "")
	return out
}

// decode keeps the spelling of numbers.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// encode has no escapes for HTML.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
