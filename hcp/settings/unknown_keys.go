// This file explains annotation keys that have no effect on an object: they are
// misplaced, misspelled or unknown.

package settings

import (
	"slices"

	"github.com/cldmnky/oooi/network"
)

// unknown returns the problem of a key that has no effect on an object of kind at.
func unknown(on network.Subject, name string, at Place) network.Problem {
	near, ok := nearest(name, at)
	switch {
	case ok && near.Name == name:
		return network.NewProblem(network.AnnotationMisplaced, on, network.Args{"places": near.On.String()}, name)
	case ok:
		return network.NewProblem(network.AnnotationMisspelled, on, network.Args{"meant": near.Name}, name)
	}
	return network.NewProblem(network.AnnotationNotKnown, on, nil, name)
}

// nearest returns the key with the smallest edit distance to name, at most three.
// A key that has no effect at that place only counts if it is equal to name.
func nearest(name string, at Place) (best Key, ok bool) {
	least := 4
	for _, k := range Keys() {
		d := distance(name, k.Name)
		if d < least && (d == 0 || slices.Contains(k.On, at)) {
			best, least = k, d
		}
	}
	return best, least < 4
}

// distance returns the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
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
