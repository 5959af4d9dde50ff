// This file remembers what was applied, to save reads and repeated log lines. It does not affect decisions.

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
	// led has a ledService for each load balancer that this process has made forward to edges.
	led sync.Map
}

// A leaseCheck says when obsolete leases were last searched, and which networks were served then.
type leaseCheck struct {
	served []string
	at     time.Time
}

// A ledService names a load balancer of a cluster.
type ledService struct {
	cluster types.NamespacedName
	name    string
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

// leads remembers whether this process made a load balancer forward to edges, and returns the previous value.
func (a *Memory) leads(key types.NamespacedName, service string, now bool) (before bool) {
	if now {
		_, before = a.led.LoadOrStore(ledService{key, service}, nil)
	} else {
		_, before = a.led.LoadAndDelete(ledService{key, service})
	}
	return before
}

// Forget forgets a cluster that no longer exists.
func (a *Memory) Forget(key types.NamespacedName) {
	a.leases.Delete(key)
	a.led.Range(func(s, _ any) bool {
		if s, ok := s.(ledService); ok && s.cluster == key {
			a.led.Delete(s)
		}
		return true
	})
}
