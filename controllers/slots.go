// This file limits how long hosted clusters keep others waiting. Requests that hang, such as writes behind a webhook, time
// out. Clusters with such writes or long decisions, and clusters that are new, never get all workers.

package controllers

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/requests"
)

const (
	// workers is the maximum number of clusters that are reconciled at the same time.
	workers = 8
	// unprovenWorkers is the maximum number of workers that reconcile clusters with no pass before, or with a slow one.
	unprovenWorkers = workers - 2
	// slowAfter is the duration of a failed pass, or of a decision, after which the pass was slow.
	slowAfter = 2 * time.Second
	// passWithin limits the reads and writes of a pass.
	passWithin = 20 * time.Second
	// whileUnproven is the delay after which a cluster that found no free worker is queued again.
	whileUnproven = time.Second
)

// slots has the workers: it decides which clusters may be reconciled now. The zero value knows no cluster.
type slots struct {
	mu sync.Mutex
	// proven are the clusters with a last pass that was not slow.
	proven  map[types.NamespacedName]bool
	running int
}

// enter reports whether a pass for the cluster key may begin. When the pass ends, call leave with its error, the
// duration of its decision, and the present time. The pass was slow if it timed out, failed after more than slowAfter, or
// needed more than slowAfter to decide. A cluster that is gone is new when it comes back.
func (s *slots) enter(key types.NamespacedName, now time.Time) (leave func(err error, deciding time.Duration, now time.Time), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unproven, began := !s.proven[key], now
	if unproven && s.running >= unprovenWorkers {
		return nil, false
	}
	if unproven {
		s.running++
	}
	return func(err error, deciding time.Duration, now time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if unproven {
			s.running--
		}
		slow := requests.TimedOut(err) || err != nil && now.Sub(began) > slowAfter || deciding > slowAfter
		if slow || errors.Is(err, gather.ErrGone) {
			delete(s.proven, key)
			return
		}
		if s.proven == nil {
			s.proven = map[types.NamespacedName]bool{}
		}
		s.proven[key] = true
	}, true
}
