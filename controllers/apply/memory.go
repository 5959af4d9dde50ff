// This file remembers when obsolete leases were searched, to save reads. It does not affect decisions.

package apply

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/decide"
)

// A Memory holds what is remembered of each hosted cluster. The zero value is empty.
type Memory struct {
	// leases has a leaseCheck for each types.NamespacedName of a cluster.
	leases sync.Map
}

// A leaseCheck says when obsolete leases were last searched, and which networks were served then.
type leaseCheck struct {
	served []string
	at     time.Time
}

// leasesDue reports whether to search for leases of networks that the cluster no longer serves.
func (a *Memory) leasesDue(key types.NamespacedName, served []string, now time.Time) bool {
	known, _ := a.leases.Load(key)
	last, _ := known.(leaseCheck)
	return !slices.Equal(last.served, served) || now.Sub(last.at) >= decide.ResyncReady
}

func (a *Memory) leasesRemoved(key types.NamespacedName, served []string, now time.Time) {
	a.leases.Store(key, leaseCheck{served, now})
}

// Forget forgets a cluster that no longer exists.
func (a *Memory) Forget(key types.NamespacedName) { a.leases.Delete(key) }
