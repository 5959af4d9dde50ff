// Package spelling finds the name that a user probably meant. It is pure.
package spelling

import "strings"

const maxEdits = 3

// Nearest returns the first element of known with the smallest Distance to name: at most three, and at most half of the
// known name's length. Case does not count. ok is false if no name is near enough.
func Nearest(name string, known []string) (meant string, ok bool) {
	least := maxEdits + 1
	for _, k := range known {
		if d := Distance(strings.ToLower(name), strings.ToLower(k)); d < least && d <= len(k)/2 {
			meant, least = k, d
		}
	}
	return meant, least <= maxEdits
}

// Distance returns the number of edits from a to b: a byte is inserted, deleted, replaced, or swapped with the next
// byte (optimal string alignment).
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
