// This file holds how often the operator looks at what no watch reports.

package controllers

import (
	"cmp"
	"time"
)

// intervals are how often the operator looks again. The zero value means productIntervals.
type intervals struct {
	// kinds is for the state of all kinds, and missingKinds for those that the API server does not have yet.
	kinds, missingKinds time.Duration
	// refusedWatch is how soon a refused request to list or watch a kind is sent again.
	refusedWatch time.Duration
	// policies is for the admission policies.
	policies time.Duration
	// environment is for what all hosted clusters share. A change of it reaches the plans of all of them within
	// that time and one pass for each.
	environment time.Duration
	// waves is for all edges. They are read from the cache.
	waves time.Duration
}

// productIntervals are those of the product.
var productIntervals = intervals{
	kinds: time.Second, missingKinds: 5 * time.Second, refusedWatch: 2 * time.Second, policies: 10 * time.Second, environment: 15 * time.Second, waves: 2 * time.Second,
}

// orProduct is i, or the product's if i is zero.
func (i intervals) orProduct() intervals { return cmp.Or(i, productIntervals) }
