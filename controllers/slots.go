// This file limits how long one hosted cluster keeps others waiting. Requests that hang, such as writes behind a
// webhook, time out. Clusters with such writes or long decisions get only a part of the workers.

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/requests"
)

const (
	// workers is the maximum number of clusters that are reconciled at the same time.
	workers = 8
	// slowWorkers is the maximum number of workers that reconcile slow clusters.
	slowWorkers = workers / 2
	// slowAfter is the duration of a failed pass, or of a decision, after which a cluster counts as slow.
	slowAfter = 2 * time.Second
	// passWithin limits the reads and writes of a pass.
	passWithin = 20 * time.Second
	// whileSlow is the delay after which a slow cluster that found no free worker is queued again.
	whileSlow = time.Second
)

// slowClusters are the clusters whose last pass timed out, failed after more than slowAfter, or needed more than
// slowAfter to decide. The zero value is empty.
type slowClusters struct {
	mu      sync.Mutex
	all     map[types.NamespacedName]bool
	running int
}

// enter reports whether a pass for the cluster key may begin. When the pass ends, call leave with its error, the
// duration of its decision, and the present time.
func (s *slowClusters) enter(key types.NamespacedName, now time.Time) (leave func(err error, deciding time.Duration, now time.Time), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slow, began := s.all[key], now
	if slow && s.running >= slowWorkers {
		return nil, false
	}
	if slow {
		s.running++
	}
	return func(err error, deciding time.Duration, now time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if slow {
			s.running--
		}
		if delete(s.all, key); requests.TimedOut(err) || err != nil && now.Sub(began) > slowAfter || deciding > slowAfter {
			if s.all == nil {
				s.all = map[types.NamespacedName]bool{}
			}
			s.all[key] = true
		}
	}, true
}
