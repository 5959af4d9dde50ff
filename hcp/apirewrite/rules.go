// Package apirewrite translates between a Kubernetes client and an API server that use different names for some
// groups, kinds and resources. It works on bytes: it copies what it does not rename. It opens no connections.
//
// A word of the rules is a name that the rules rename: of a group, a resource, a kind or a key. A key is the name of a label,
// an annotation or a finalizer. Rules rename a whole key, or its prefix: the part before the slash.
//
// The client's word and the server's word are exchanged, in both directions. So an object that has both words keeps them
// distinct, and a document that goes to the server and back does not change.
//
// The following keep the server's names:
//   - OpenAPI, which kubectl explain shows. kubectl apply may need --validate=false;
//   - values of labels and annotations, except for kubectl.kubernetes.io/last-applied-configuration;
//   - names of extended resources, such as devices.kubevirt.io/kvm;
//   - a resource in an RBAC rule with apiGroups "*". In a rule with several groups, a resource of one is renamed for all;
//   - a kind or resource that is the whole value of a JSON patch operation, because the operation does not contain its group;
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

// Rules are the words to exchange, and the objects to hide. Parse creates them. Rules are safe for concurrent use.
type Rules struct {
	groups   map[string]*group // by either name
	kinds    swap              // of all groups
	prefixes swap              // of keys, without the slash
	keys     swap              // whole keys
	hidden   map[Object]bool
	webhooks map[string]string // the client's path of a webhook, by the server's
	triggers [][]byte          // groups and keys; a document that contains none of them has nothing to rename
	words    map[string]string // the client's word by the server's, for messages
}

// An Object identifies objects by the client's words, in any namespace.
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

// A swap contains the other word for each word of the client or the server. It contains each pair in both directions.
type swap map[string]string

// exchange adds two words that replace each other. It returns false if one of them already replaces another word. Equal
// words need no entry.
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

// key returns the other word for a key. It returns false if there is none.
func (r *Rules) key(key string) (string, bool) {
	if head, tail, ok := strings.Cut(key, "/"); ok {
		if other, ok := r.prefixes[head]; ok {
			return other + "/" + tail, true
		}
	}
	other, ok := r.keys[key]
	return other, ok
}

// Resource returns the server's words for a group and a resource of the client. A word without a rule does not change.
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

// Hides reports whether the rules hide o: clients do not see hidden objects.
func (r *Rules) Hides(o Object) bool { return o.Name != "" && r.hidden[o] }

// Webhook returns the client's path of the webhook that the server calls at path. A path without a rule does not change.
func (r *Rules) Webhook(path string) string {
	if client, ok := r.webhooks[path]; ok {
		return client
	}
	return path
}

// mayRename reports whether text, which is JSON, may contain a word of the rules. An escape sequence may be part of a word.
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

// HasWord reports whether text, in any format, contains a word of the rules. It looks only for groups and keys, because a
// kind or a resource always comes with its group.
func (r *Rules) HasWord(text []byte) bool {
	return slices.ContainsFunc(r.triggers, func(t []byte) bool { return bytes.Contains(text, t) })
}

// qualified returns the other name of an object whose name contains a group: "plural.group" for a
// CustomResourceDefinition, "version.group" for an APIService. If there is no other name, it returns parameter
// name.
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

// The groups of the kinds whose objects are named after a group.
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

// Message returns text, a message of the server for people, with the client's words. It renames only whole words.
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

// word returns the client's word for w: a single word, "plural.group" or "group/version". w may end with punctuation.
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
		// core is plural.group or Kind.group, with or without a version between them.
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
