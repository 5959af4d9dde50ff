// This file holds what the operator remembers of each hosted cluster between two passes: the last Report, and values
// that a Report cannot have. A restart clears it, and then all clusters are reconciled.

package controllers

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// A memory has what is remembered of each hosted cluster. The zero value is empty.
type memory struct {
	mu  sync.Mutex
	all map[types.NamespacedName]remembered
}

// A remembered holds what this process remembers about one hosted cluster. The zero value is for a cluster that was not
// seen yet.
type remembered struct {
	// reported is the last report. Nil: none.
	reported *gather.LastReport
	// failing are the failed passes since the last successful one. It works as a clock: it decides when the condition
	// names a failure, and never what is applied.
	failing failing
	// loss says whether the last pass found annotation network lost, and how far the removal is. It is not stored in
	// the API server. A stored deadline counts only for a process that ran all the time and did not see the annotation
	// come back.
	loss gather.Loss
}

func (m *memory) of(key types.NamespacedName) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[key]
}

func (m *memory) change(key types.NamespacedName, to func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[types.NamespacedName]remembered{}
	}
	now := m.all[key]
	to(&now)
	m.all[key] = now
}

func (m *memory) read(key types.NamespacedName, stored explain.Report) {
	if m.of(key).reported == nil && stored.Cluster != "" {
		m.change(key, func(x *remembered) { x.reported = &gather.LastReport{Report: stored} })
	}
}

func (m *memory) fails(key types.NamespacedName, problems problem.Problems, now time.Time) (f failing) {
	m.change(key, func(x *remembered) {
		f = x.failing.next(problems, now)
		x.failing = f
	})
	return f
}

// around returns the clusters whose last Report has key as a neighbor.
func (m *memory) around(key types.NamespacedName) (out []reconcile.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, x := range m.all {
		if x.reported != nil && slices.Contains(x.reported.Report.Neighbors, key.String()) {
			out = append(out, reconcile.Request{NamespacedName: k})
		}
	}
	return out
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

const (
	// failsAfter is how long passes must fail before the condition names the failure. A conflict, or a webhook that
	// restarts, ends sooner.
	failsAfter = 3 * time.Second
	// sameFailure is how long the condition keeps its text while passes fail with other errors. An error may contain a
	// time or a port, and each new condition triggers another pass.
	sameFailure = 10 * time.Second
)

// A failing is a series of failed passes of one cluster. Zero: the last pass succeeded.
type failing struct {
	// since is the time of the first failed pass.
	since time.Time
	// said are the problems for the condition, and saidAt the time at which they were set.
	said   problem.Problems
	saidAt time.Time
}

// next returns f after another failed pass.
func (f failing) next(problems problem.Problems, now time.Time) failing {
	if f.since.IsZero() {
		f.since = now
	}
	if !f.lasts(now) || now.Sub(f.saidAt) >= sameFailure {
		f.said, f.saidAt = problems, now
	}
	return f
}

// lasts reports whether f must be in the condition at the time now.
func (f failing) lasts(now time.Time) bool { return now.Sub(f.since) >= failsAfter }
