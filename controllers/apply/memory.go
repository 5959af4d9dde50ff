// This file remembers what was applied where it costs too much to read it again, or to log it again. It changes no decision.

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

// A leaseCheck is when obsolete leases were last looked for, and which networks were served then.
type leaseCheck struct {
	served []string
	at     time.Time
}

// A ledService is a load balancer of a cluster.
type ledService struct {
	cluster types.NamespacedName
	name    string
}

// leasesDue reports whether to look for leases of other networks of a cluster than those that are served.
func (a *Memory) leasesDue(key types.NamespacedName, served []string, now time.Time) bool {
	known, _ := a.leases.Load(key)
	last, _ := known.(leaseCheck)
	return !slices.Equal(last.served, served) || now.Sub(last.at) >= decide.ResyncReady
}

// leasesRemoved remembers that no other leases are left.
func (a *Memory) leasesRemoved(key types.NamespacedName, served []string, now time.Time) {
	a.leases.Store(key, leaseCheck{served, now})
}

// leads remembers whether this process pointed a load balancer of a cluster at edges, and returns the previous value.
func (a *Memory) leads(key types.NamespacedName, service string, now bool) (before bool) {
	if now {
		_, before = a.led.LoadOrStore(ledService{key, service}, nil)
	} else {
		_, before = a.led.LoadAndDelete(ledService{key, service})
	}
	return before
}

// Forget is for a cluster that is gone.
func (a *Memory) Forget(key types.NamespacedName) {
	a.leases.Delete(key)
	a.led.Range(func(s, _ any) bool {
		if s, ok := s.(ledService); ok && s.cluster == key {
			a.led.Delete(s)
		}
		return true
	})
}
