// Package spelling finds the name that a user meant. It is pure, and knows no kind of name.
package spelling

import "strings"

// maxEdits is how many edits of a name are a mistake at most.
const maxEdits = 3

// Nearest returns the one of known with the smallest Distance to name, and the first of several. The distance is at
// most three, and at most half of the length of the known name. Case has no effect. ok is false if none is near.
func Nearest(name string, known []string) (meant string, ok bool) {
	least := maxEdits + 1
	for _, k := range known {
		if d := Distance(strings.ToLower(name), strings.ToLower(k)); d < least && d <= len(k)/2 {
			meant, least = k, d
		}
	}
	return meant, least <= maxEdits
}

// Distance returns how many bytes are inserted, deleted, replaced, or swapped with the next one, to get b from a
// (optimal string alignment).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
