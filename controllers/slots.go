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
	// slowWorkers is the maximum number of workers that reconcile clusters with a slow last pass.
	slowWorkers = workers - 4
	// slowAfter is the duration of a failed pass, or of a decision, after which the pass was slow.
	slowAfter = 2 * time.Second
	// passWithin limits the reads and writes of a pass.
	passWithin = 20 * time.Second
	// whileUnproven is the delay after which a cluster that found no free worker is queued again.
	whileUnproven = time.Second
)

// slots limits how many workers reconcile clusters that are new or slow. The zero value knows no cluster.
type slots struct {
	mu sync.Mutex
	// proven has each known cluster. The value is true if its last pass was not slow.
	proven map[types.NamespacedName]bool
	// unproven and slow are how many workers reconcile clusters that are not proven, and slow ones among them.
	unproven, slow int
}

// enter reports whether a pass for the cluster key may begin. When the pass ends, call leave with its error, the
// duration of its decision, and the present time. The pass was slow if it timed out, failed after more than slowAfter, or
// needed more than slowAfter to decide. A cluster that is gone is new when it comes back.
func (s *slots) enter(key types.NamespacedName, now time.Time) (leave func(err error, deciding time.Duration, now time.Time), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	proven, known := s.proven[key]
	unproven, slow, began := !proven, known && !proven, now
	if unproven && s.unproven >= unprovenWorkers || slow && s.slow >= slowWorkers {
		return nil, false
	}
	s.count(unproven, slow, 1)
	return func(err error, deciding time.Duration, now time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(unproven, slow, -1)
		if errors.Is(err, gather.ErrGone) {
			delete(s.proven, key)
			return
		}
		if s.proven == nil {
			s.proven = map[types.NamespacedName]bool{}
		}
		late := requests.TimedOut(err) || err != nil && now.Sub(began) > slowAfter
		s.proven[key] = !late && deciding <= slowAfter
	}, true
}

func (s *slots) count(unproven, slow bool, change int) {
	if unproven {
		s.unproven += change
	}
	if slow {
		s.slow += change
	}
}
