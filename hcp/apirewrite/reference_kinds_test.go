// This file has the rules of the slow reference for single kinds.

package apirewrite_test

import "strings"

// special exchanges names that only the kind shows. In a list, the list may name the kind of its items.
func (r reference) special(before, after any, group, kind string) {
	in, ok := before.(map[string]any)
	out, ok2 := after.(map[string]any)
	if !ok || !ok2 {
		return
	}
	if text(in, "apiVersion") != "" && text(in, "kind") != "" {
		group, kind = "", text(in, "kind")
		if head, _, ok := strings.Cut(text(in, "apiVersion"), "/"); ok {
			group = head
		}
	}
	each := func(name string, f func(before, after any)) {
		items, _ := in[name].([]any)
		for i := range items {
			f(items[i], out[name].([]any)[i])
		}
	}
	switch {
	case definitions(group, kind), services(group, kind):
		r.definition(in, out, definitions(group, kind))
	case kind == "APIGroup":
		if name, ok := in["name"].(string); ok {
			out["name"] = r.groups.other(name)
		}
	case kind == "APIGroupList":
		each("groups", func(b, a any) { r.special(b, a, "", "APIGroup") })
	case kind == "APIResourceList":
		group, _, _ := strings.Cut(text(in, "groupVersion"), "/")
		each("resources", func(b, a any) { r.discovered(b, a, group) })
	case kind == "APIGroupDiscovery":
		r.discoveredGroup(in, out)
	case strings.HasSuffix(kind, "List"):
		each("items", func(b, a any) { r.special(b, a, group, strings.TrimSuffix(kind, "List")) })
	}
}

func member(v any, names ...string) map[string]any {
	out, _ := v.(map[string]any)
	for _, n := range names {
		out, _ = out[n].(map[string]any)
	}
	return out
}

func (r reference) definition(in, out map[string]any, byResource bool) {
	group := text(member(in, "spec"), "group")
	if name := text(member(in, "metadata"), "name"); name != "" {
		member(out, "metadata")["name"] = r.named(byResource, name)
		if _, of, _ := strings.Cut(name, "."); r.groups[group] == "" {
			group = of
		}
	}
	for _, path := range [][]string{{"spec", "names"}, {"status", "acceptedNames"}} {
		for name, v := range member(in, path...) {
			word, _ := v.(string)
			switch name {
			case "plural", "singular":
				member(out, path...)[name] = r.resources[group].other(word)
			case "kind", "listKind":
				member(out, path...)[name] = r.kinds[group].other(word)
			}
		}
	}
}

// discovered is one resource in the plain form of discovery.
func (r reference) discovered(before, after any, group string) {
	in, out := member(before), member(after)
	for _, name := range []string{"name", "singularName"} {
		if word, ok := in[name].(string); ok {
			out[name] = r.resource(group, word)
		}
	}
	if kind, ok := in["kind"].(string); ok && in["group"] == nil {
		out["kind"] = r.kinds[group].other(kind)
	}
}

// discoveredGroup is one group in the aggregated form.
func (r reference) discoveredGroup(in, out map[string]any) {
	group := text(member(in, "metadata"), "name")
	if r.groups[group] == "" {
		return
	}
	member(out, "metadata")["name"] = r.groups[group]
	versions, _ := out["versions"].([]any)
	for _, v := range versions {
		resources, _ := member(v)["resources"].([]any)
		for _, one := range resources {
			for _, name := range []string{"resource", "singularResource"} {
				if word, ok := member(one)[name].(string); ok {
					member(one)[name] = r.resources[group].other(word)
				}
			}
		}
	}
}
