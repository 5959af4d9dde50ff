// This file explains annotation keys without effect: they are misplaced, misspelled or unknown.

package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/hcp/spelling"
	"github.com/cldmnky/oooi/network/problem"
)

func unknown(on problem.Subject, name string, at Place) problem.Problem {
	near, ok := nearest(name, at)
	ofPool, nodePool, _ := strings.Cut(name, ".")
	switch _, isKey := find(ofPool, OnNodePool); {
	case isKey && nodePool != "" && at == OnHostedCluster:
		return problem.New(problem.AnnotationNotPerNodePool, on, problem.Args{"meant": {ofPool}, "nodePool": {nodePool}}, name)
	case ok && near.Name == name:
		return problem.New(problem.AnnotationMisplaced, on, problem.Args{"places": {near.On.String()}}, name)
	case ok:
		return problem.New(problem.AnnotationMisspelled, on, problem.Args{"meant": {near.Name}}, name)
	}
	return problem.New(problem.AnnotationNotKnown, on, nil, name)
}

// nearest returns the key with this name, on whatever kind of object it has an effect. If there is none, it returns the
// key that the user probably meant, among the keys for objects of kind at.
func nearest(name string, at Place) (best Key, ok bool) {
	var known []string
	for _, k := range table() {
		if k.Name == name {
			return k, true
		}
		if slices.Contains(k.On, at) {
			known = append(known, k.Name)
		}
	}
	if name, ok = spelling.Nearest(name, known); !ok {
		return Key{}, false
	}
	return find(name, at)
}

// maxPrefixDistance limits the edits in a misspelled prefix. Case does not count.
const maxPrefixDistance = 2

// rightPrefix returns a key with oooi's prefix if full is probably that key with a misspelled prefix. A foreign prefix
// (isForeign) counts only if the rest of full is a key for objects of kind at.
func rightPrefix(full string, at Place) (meant string, ok bool) {
	prefix, name := parts(full)
	if prefix == Prefix {
		return "", false
	}
	if !isNear(prefix) {
		if !isForeign(prefix) {
			return "", false
		}
		if _, known := find(name, at); !known {
			return "", false
		}
	}
	return Prefix + name, true
}

// Concerns reports whether an annotation with the key full sets a value on some kind of object. reported is true if a
// problem may report it as an annotation without effect.
func Concerns(full string) (sets, reported bool) {
	prefix, name := parts(full)
	near := isNear(prefix)
	if !near && !isForeign(prefix) {
		return false, false
	}
	known := false
	for i := range table() {
		known = known || table()[i].isNamed(name, true)
	}
	return prefix == Prefix && known, near || known
}

// parts returns the prefix of full with its slash, and the rest. A key without a slash has the prefix "/".
func parts(full string) (prefix, name string) {
	prefix, name, cut := strings.Cut(full, "/")
	if !cut {
		return "/", full
	}
	return full[:len(prefix)+1], name
}

// isNear reports whether prefix is Prefix, or at most maxPrefixDistance edits away from it.
func isNear(prefix string) bool {
	longer := len(prefix) - len(Prefix)
	return prefix == Prefix || max(longer, -longer) <= maxPrefixDistance && spelling.Distance(strings.ToLower(prefix), Prefix) <= maxPrefixDistance
}

// isForeign reports whether a user may have confused prefix with Prefix. Examples are no prefix, the prefix of
// HyperShift, and that of another project in the same domain.
func isForeign(prefix string) bool {
	domain := Prefix[strings.Index(Prefix, ".")+1:]
	return prefix == "/" || prefix == "hypershift.openshift.io/" || prefix == domain || strings.HasSuffix(prefix, "."+domain)
}

// Labels returns a problem for each label that would have an effect as an annotation.
func Labels(at Place, object string, labels map[string]string) problem.Problems {
	var out problem.Problems
	for _, full := range slices.Sorted(maps.Keys(labels)) {
		name, ours := strings.CutPrefix(full, Prefix)
		if _, known := find(name, at); ours && known {
			out = append(out, problem.New(problem.LabelNotAnnotation, subject(at, object), nil, name))
		}
	}
	return out
}
