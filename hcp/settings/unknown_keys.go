// This file explains annotation keys that have no effect on an object: they are
// misplaced, misspelled or unknown.

package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network/problem"
)

// unknown returns the problem of a key that has no effect on an object of kind at.
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

// nearest returns the key with the smallest edit distance to name, at most three, and
// less than the key's length. Case has no effect. A key that has no effect at that place only counts if it is equal to name.
func nearest(name string, at Place) (best Key, ok bool) {
	least, lower := 4, strings.ToLower(name)
	for _, k := range table() {
		d := Distance(lower, k.Name)
		if d < min(least, len(k.Name)) && (name == k.Name || slices.Contains(k.On, at)) {
			best, least = k, d
		}
	}
	return best, least < 4
}

// Distance returns the Levenshtein distance of a and b in bytes.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// maxPrefixDistance is how many characters of a misspelled prefix differ, whatever their case.
const maxPrefixDistance = 2

// nearPrefix returns the key with the right prefix, if full is a key with a misspelled one.
func nearPrefix(full string) (meant string, ok bool) {
	prefix, name, _ := strings.Cut(full, "/")
	if prefix+"/" == Prefix || Distance(strings.ToLower(prefix)+"/", Prefix) > maxPrefixDistance {
		return "", false
	}
	return Prefix + name, true
}

// Labels returns a problem for each label that would have an effect as an annotation on an object of
// kind at.
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
