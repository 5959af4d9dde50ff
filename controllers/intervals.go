// This file holds how often the operator looks for changes that no watch reports.

package controllers

import (
	"cmp"
	"time"
)

// intervals has the interval of each repeated check. The zero value means productIntervals.
type intervals struct {
	// kinds is for the state of all kinds. missingKinds is for kinds that the API server does not have yet.
	kinds, missingKinds time.Duration
	// refusedWatch is how soon a refused request to list or watch a kind is repeated.
	refusedWatch time.Duration
	policies     time.Duration
	// environment is for what all hosted clusters share. A change reaches all plans within this time and one pass for
	// each cluster.
	environment time.Duration
	// waves is for the edges of all clusters, which are read from the cache.
	waves time.Duration
}

// productIntervals are for production. Tests use shorter ones.
var productIntervals = intervals{
	kinds: time.Second, missingKinds: 5 * time.Second, refusedWatch: 2 * time.Second, policies: 10 * time.Second, environment: 15 * time.Second, waves: 2 * time.Second,
}

func (i intervals) orProduct() intervals { return cmp.Or(i, productIntervals) }
