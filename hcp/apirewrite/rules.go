// Package apirewrite translates between a Kubernetes client and an API server that use different names for some
// groups, kinds and resources. It works on bytes: it copies what it does not rename. It opens no connections.
//
// The client's name and the server's name are exchanged, in both directions. So an object that has both names keeps
// them distinct, and a document that goes to the server and back does not change.
//
// These keep the server's names:
//   - OpenAPI, which kubectl explain shows. kubectl apply may need --validate=false;
//   - values of labels and annotations, except for kubectl.kubernetes.io/last-applied-configuration;
//   - names of extended resources, such as devices.kubevirt.io/kvm;
//   - a resource in an RBAC rule with apiGroups "*". In a rule with several groups, a resource of one is renamed for all;
//   - a single kind or resource in a JSON patch, because the operation does not have its group;
//   - answers of services/proxy, pods/proxy and nodes/proxy, and a watch over WebSocket;
//   - short names and categories in a CustomResourceDefinition.
//
// This file has the table of names.
package apirewrite

import (
	"bytes"
	"slices"
	"strings"
)

// A Direction is the direction in which a document is sent.
type Direction bool

const (
	ToServer Direction = false
	ToClient Direction = true
)

// Rules is the table of names. Parse returns one. Rules do not change, so many goroutines may use them.
type Rules struct {
	groups   map[string]*group // by either name
	kinds    swap              // of all groups
	prefixes swap              // of keys, without the slash
	keys     swap              // whole keys
	hidden   map[Object]bool
	webhooks map[string]string // the server's path: the client's
	triggers [][]byte          // a document that contains none of them has nothing to rename
	words    map[string]string // the server's word: the client's, for messages
}

// An Object is the name of an object, whatever its namespace, in the client's words.
type Object struct{ Group, Resource, Name string }

type group struct {
	client, server string
	resources      swap // plurals and singulars
	kinds          swap // kinds and kinds of lists
}

func (g *group) other(name string) string {
	if name == g.client {
		return g.server
	}
	return g.client
}

// A swap exchanges words. Other words do not change.
type swap map[string]string

// exchange adds two words that replace each other. It reports whether both are new. Equal words need no entry.
func (s swap) exchange(a, b string) bool {
	if a == b {
		return true
	}
	if s[a] != "" || s[b] != "" {
		return s[a] == b && s[b] == a
	}
	s[a], s[b] = b, a
	return true
}

// key returns the other name of a key of a label, an annotation or a finalizer.
func (r *Rules) key(key string) (string, bool) {
	if head, tail, ok := strings.Cut(key, "/"); ok {
		if other, ok := r.prefixes[head]; ok {
			return other + "/" + tail, true
		}
	}
	other, ok := r.keys[key]
	return other, ok
}

// Resource returns the server's names for a resource of the client. A name without a rule does not change.
func (r *Rules) Resource(groupName, plural string) (serverGroup, serverPlural string) {
	g := r.groups[groupName]
	if g == nil {
		return groupName, plural
	}
	if other, ok := g.resources[plural]; ok {
		plural = other
	}
	return g.other(groupName), plural
}

// Hides reports whether the rules hide an object.
func (r *Rules) Hides(o Object) bool { return o.Name != "" && r.hidden[o] }

// Webhook returns the client's path for a webhook that the server calls. A path without a rule does not change.
func (r *Rules) Webhook(path string) string {
	if client, ok := r.webhooks[path]; ok {
		return client
	}
	return path
}

// mayRename reports whether JSON may have a name to exchange: a word of the rules, or an escape, which may be part of
// one.
func (r *Rules) mayRename(text []byte) bool {
	if r.HasWord(text) {
		return true
	}
	for rest := text; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || i+1 >= len(rest) {
			return false
		}
		if rest[i+1] == 'u' || rest[i+1] == '/' {
			return true
		}
		rest = rest[i+2:]
	}
}

// HasWord reports whether text, in any format, has a word of the rules. It looks for groups and keys only, since a
// kind or a resource always comes with its group.
func (r *Rules) HasWord(text []byte) bool {
	return slices.ContainsFunc(r.triggers, func(t []byte) bool { return bytes.Contains(text, t) })
}

// qualified returns the other name of an object that is named after a group: "plural.group" for a
// CustomResourceDefinition, "version.group" for an APIService. Without another name, it returns name.
func (r *Rules) qualified(by naming, name string) string {
	head, groupName, ok := strings.Cut(name, ".")
	g := r.groups[groupName]
	if by == byNothing || !ok || g == nil {
		return name
	}
	if by == byResource {
		if other, ok := g.resources[head]; ok {
			head = other
		}
	}
	return head + "." + g.other(groupName)
}

type naming int

const (
	byNothing naming = iota
	byResource
	byVersion
)

// How objects of a kind are named after a group.
const (
	definitionGroup = "apiextensions.k8s.io"
	serviceGroup    = "apiregistration.k8s.io"
)

func namingOf(groupName, kindOrResource string) naming {
	switch {
	case groupName == definitionGroup && (kindOrResource == "CustomResourceDefinition" || kindOrResource == "customresourcedefinitions"):
		return byResource
	case groupName == serviceGroup && (kindOrResource == "APIService" || kindOrResource == "apiservices"):
		return byVersion
	}
	return byNothing
}

// Message translates the server's text for people into the client's words. Only whole words are renamed.
func (r *Rules) Message(text string) string {
	if text == "" {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && isWord(text[j]) {
			j++
		}
		if j == i {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(r.word(text[i:j]))
		i = j
	}
	return b.String()
}

// word renames a name, "plural.group" or "group/version", with punctuation at its end.
func (r *Rules) word(w string) string {
	core := strings.TrimRight(w, ".-/")
	end := w[len(core):]
	if client, ok := r.words[core]; ok {
		return client + end
	}
	if parts := strings.Split(core, "/"); len(parts) > 1 {
		for i, p := range parts {
			parts[i] = r.word(p)
		}
		return strings.Join(parts, "/") + end
	}
	if head, tail, ok := strings.Cut(core, "."); ok {
		// plural.group or Kind.group, with or without a version between them.
		if client, ok := r.words[tail]; ok {
			return r.word(head) + "." + client + end
		}
		if version, groupName, ok := strings.Cut(tail, "."); ok && r.words[groupName] != "" {
			return r.word(head) + "." + version + "." + r.words[groupName] + end
		}
	}
	return w
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '/'
}
