// This file reads rules from YAML, and refuses rules that are not one-to-one.

package apirewrite

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse returns the rules in text, the content of file. It refuses unknown fields, words that are not one-to-one, and rules
// that overlap. Errors begin with file and the line.
func Parse(file string, text []byte) (*Rules, error) {
	p := parser{file: file, rules: &Rules{
		groups: map[string]*group{}, kinds: swap{}, prefixes: swap{}, keys: swap{}, hidden: map[Object]bool{}, webhooks: map[string]string{}, words: map[string]string{},
	}}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("%s:1: the file has no rules", file)
	}
	version := ""
	p.fields(document.Content[0], map[string]func(*yaml.Node){
		"version": func(n *yaml.Node) {
			if version = n.Value; version != "1" {
				p.fail(n, "version %q is unknown: want 1", version)
			}
		},
		"groups":   func(n *yaml.Node) { p.each(n, p.group) },
		"keys":     func(n *yaml.Node) { p.each(n, p.key) },
		"hide":     func(n *yaml.Node) { p.each(n, p.hide) },
		"webhooks": p.webhooks,
	})
	if p.err == nil && version == "" {
		p.fail(document.Content[0], "version is missing: want version: 1")
	}
	if r := p.rules; len(r.groups)+len(r.prefixes)+len(r.keys)+len(r.hidden)+len(r.webhooks) == 0 {
		p.fail(document.Content[0], "the rules rename nothing")
	}
	if p.err != nil {
		return nil, p.err
	}
	p.rules.finish()
	return p.rules, nil
}

// A parser collects rules, and keeps the first error.
type parser struct {
	file  string
	rules *Rules
	err   error
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s:%d: "+format, append([]any{p.file, n.Line}, args...)...)
	}
}

// fields reads n, a mapping. For each field, it calls the function that parameter known contains for that field. A field
// without a function is an error.
func (p *parser) fields(n *yaml.Node, known map[string]func(*yaml.Node)) {
	seen := map[string]bool{}
	p.pairs(n, func(name, value *yaml.Node) {
		f := known[name.Value]
		switch {
		case f == nil:
			p.fail(name, "unknown field %s: known are %s", name.Value, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case seen[name.Value]:
			p.fail(name, "field %s is set twice", name.Value)
		default:
			seen[name.Value] = true
			f(value)
		}
	})
}

func (p *parser) pairs(n *yaml.Node, f func(name, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "want fields")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f(n.Content[i], n.Content[i+1])
	}
}

func (p *parser) each(n *yaml.Node, f func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, "want a list")
		return
	}
	for _, item := range n.Content {
		f(item)
	}
}

func (p *parser) into(s *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			p.fail(n, "want text")
		}
		*s = n.Value
	}
}

func (p *parser) group(n *yaml.Node) {
	g := &group{resources: swap{}, kinds: swap{}}
	var kindPrefix, resourcePrefix string
	var resources *yaml.Node
	p.fields(n, map[string]func(*yaml.Node){
		"client": p.into(&g.client), "server": p.into(&g.server), "kindPrefix": p.into(&kindPrefix), "resourcePrefix": p.into(&resourcePrefix),
		"resources": func(v *yaml.Node) { resources = v },
	})
	for _, name := range []string{g.client, g.server} {
		switch {
		case name == "" || !isLower(name):
			p.fail(n, "group %q: want client and server, each the name of a group in lower case", name)
		case !strings.Contains(name, "."):
			p.fail(n, "group %q: a group without a dot belongs to Kubernetes itself", name)
		case p.rules.groups[name] != nil:
			p.fail(n, "group %s has a rule already", name)
		}
	}
	if !isLower(resourcePrefix) {
		p.fail(n, "resourcePrefix %q: want lower case", resourcePrefix)
	}
	p.rules.groups[g.client], p.rules.groups[g.server] = g, g
	if resources == nil || len(resources.Content) == 0 {
		p.fail(n, "group %s: want resources, the client's plurals with their kinds", g.client)
		return
	}
	named := map[string]bool{}
	p.pairs(resources, func(plural, kind *yaml.Node) {
		if plural.Value == "" || !isLower(plural.Value) || kind.Kind != yaml.ScalarNode || kind.Value == "" {
			p.fail(plural, "resource %q: want its plural in lower case, and its kind", plural.Value)
			return
		}
		if named[kind.Value] {
			p.fail(kind, "kind %s of group %s has a resource already", kind.Value, g.client)
		}
		named[kind.Value] = true
		singular := strings.ToLower(kind.Value)
		if !g.resources.exchange(plural.Value, resourcePrefix+plural.Value) ||
			singular != plural.Value && !g.resources.exchange(singular, resourcePrefix+singular) {
			p.fail(plural, "resource %s of group %s: its names are not one-to-one", plural.Value, g.client)
		}
		if !g.kinds.exchange(kind.Value, kindPrefix+kind.Value) || !g.kinds.exchange(kind.Value+"List", kindPrefix+kind.Value+"List") {
			p.fail(kind, "kind %s of group %s: its names are not one-to-one", kind.Value, g.client)
		}
		p.rules.kinds.exchange(kind.Value, kindPrefix+kind.Value) // If a kind is in several groups, the first one counts.
		p.rules.words[resourcePrefix+plural.Value], p.rules.words[resourcePrefix+singular] = plural.Value, singular
		p.rules.words[kindPrefix+kind.Value], p.rules.words[kindPrefix+kind.Value+"List"] = kind.Value, kind.Value+"List"
	})
}

func (p *parser) key(n *yaml.Node) {
	var client, server string
	p.fields(n, map[string]func(*yaml.Node){"client": p.into(&client), "server": p.into(&server)})
	c, clientIsPrefix := strings.CutSuffix(client, "/")
	s, serverIsPrefix := strings.CutSuffix(server, "/")
	switch {
	case c == "" || s == "" || c == s || clientIsPrefix != serverIsPrefix:
		p.fail(n, "key %q and %q: want client and server, two keys or two prefixes, which end with a slash", client, server)
	case clientIsPrefix && (strings.Contains(c, "/") || strings.Contains(s, "/")):
		p.fail(n, "key %q and %q: a prefix has one slash", client, server)
	}
	for _, word := range []string{c, s} {
		head, _, _ := strings.Cut(word, "/")
		_, covered := p.rules.prefixes[head]
		if _, whole := p.rules.keys[word]; !clientIsPrefix && (whole || covered && strings.Contains(word, "/")) || clientIsPrefix && (covered || p.rules.keyBelow(head)) {
			p.fail(n, "key %s overlaps another rule", word)
		}
	}
	if clientIsPrefix {
		p.rules.prefixes.exchange(c, s)
	} else {
		p.rules.keys.exchange(c, s)
	}
}

// keyBelow reports whether there is a rule for a whole key with this prefix.
func (r *Rules) keyBelow(prefix string) bool {
	for key := range r.keys {
		if head, _, ok := strings.Cut(key, "/"); ok && head == prefix {
			return true
		}
	}
	return false
}

func (p *parser) hide(n *yaml.Node) {
	var o Object
	p.fields(n, map[string]func(*yaml.Node){"group": p.into(&o.Group), "resource": p.into(&o.Resource), "name": p.into(&o.Name)})
	if o.Resource == "" || o.Name == "" || !isLower(o.Resource) {
		p.fail(n, "hide: want a resource in lower case, such as configmaps, and a name")
	}
	if p.rules.hidden[o] {
		p.fail(n, "hide: %s %s is hidden already", o.Resource, o.Name)
	}
	p.rules.hidden[o] = true
}

func (p *parser) webhooks(n *yaml.Node) {
	clients := map[string]bool{}
	p.pairs(n, func(client, server *yaml.Node) {
		for _, v := range []string{client.Value, server.Value} {
			if !strings.HasPrefix(v, "/") || path.Clean(v) != v {
				p.fail(client, "webhook path %q: want a path that begins with a slash", v)
			}
		}
		if p.rules.webhooks[server.Value] != "" || clients[client.Value] {
			p.fail(client, "webhook path %s or %s has a rule already", client.Value, server.Value)
		}
		clients[client.Value], p.rules.webhooks[server.Value] = true, client.Value
	})
}

// finish sets the triggers and the words for groups.
func (r *Rules) finish() {
	var all []string
	for name, g := range r.groups {
		all = append(all, name)
		r.words[g.server] = g.client
	}
	for _, s := range []swap{r.prefixes, r.keys} {
		all = append(all, slices.Collect(maps.Keys(s))...)
	}
	// The shortest words come first, because a longer word that contains a kept one is redundant.
	slices.SortFunc(all, func(a, b string) int { return len(a) - len(b) })
	var kept []string
	for _, w := range all {
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.Contains(w, k) }) {
			kept = append(kept, w)
			r.triggers = append(r.triggers, []byte(w))
		}
	}
}

func isLower(s string) bool { return s == strings.ToLower(s) && !strings.ContainsAny(s, " /\"\\") }
