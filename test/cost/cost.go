// Package cost measures how the time of a function grows, for tests that hold on a slow machine, too.
package cost

import "time"

// Ratio is how many times as long many takes as few. Each runs three times, and its shortest time counts.
func Ratio(few, many func()) float64 { return float64(shortest(many)) / float64(shortest(few)) }

func shortest(do func()) time.Duration {
	least := time.Duration(0)
	for i := range 3 {
		began := time.Now()
		do()
		if took := max(1, time.Since(began)); i == 0 || took < least {
			least = took
		}
	}
	return least
}
