// This file explains annotation keys without effect: they may stand on other
// objects, or another key was meant.

package settings

import (
	"slices"

	"github.com/cldmnky/oooi/network"
)

// unknown is the problem of a key without effect: where it has one, or which key
// was meant.
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

// nearest is the key at the smallest edit distance, which is at most three: of
// that place, or the very key of another.
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

// distance is Levenshtein's, by bytes.
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
