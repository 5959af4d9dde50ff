// This file explains annotation keys without effect: they may stand on other
// objects, or another key was meant.

package settings

import (
	"fmt"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// unknown says of a key without effect where it has one, or which was meant.
func unknown(field, name string, at Place) network.Problem {
	p := network.Problem{Reason: network.AnnotationUnknown, Field: field}
	near, ok := nearest(name, at)
	switch {
	case ok && near.Name == name:
		p.Detail = fmt.Sprintf("%s has no effect here: it may stand on %s.", field, near.On)
	case ok:
		p.Detail = fmt.Sprintf("%s has no effect: there is no such annotation here. Did you mean %s%s?", field, Prefix, near.Name)
	default:
		p.Detail = fmt.Sprintf("%s has no effect: there is no such annotation here.", field)
	}
	return p
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
