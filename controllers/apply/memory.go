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
	mu sync.Mutex
	// leases say when obsolete leases were last looked for.
	leases map[types.NamespacedName]leaseCheck
	// led are the load balancers that this process has made forward to edges.
	led map[types.NamespacedName]map[string]bool
}

// A leaseCheck is when obsolete leases were last looked for, and which networks were served then.
type leaseCheck struct {
	served []string
	at     time.Time
}

// due reports whether to look for leases of other networks than those that are served.
func (c leaseCheck) due(served []string, now time.Time) bool {
	return !slices.Equal(c.served, served) || now.Sub(c.at) >= decide.ResyncReady
}

// leasesDue reports whether to look for leases of other networks of a cluster than those that are served.
func (a *Memory) leasesDue(key types.NamespacedName, served []string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leases[key].due(served, now)
}

// leasesRemoved remembers that no other leases are left.
func (a *Memory) leasesRemoved(key types.NamespacedName, served []string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leases == nil {
		a.leases = map[types.NamespacedName]leaseCheck{}
	}
	a.leases[key] = leaseCheck{served, now}
}

// leads remembers whether this process pointed a load balancer of a cluster at edges, and returns the previous value.
func (a *Memory) leads(key types.NamespacedName, service string, now bool) (before bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before = a.led[key][service]
	switch {
	case !now:
		delete(a.led[key], service)
	case a.led[key] == nil:
		if a.led == nil {
			a.led = map[types.NamespacedName]map[string]bool{}
		}
		a.led[key] = map[string]bool{service: true}
	default:
		a.led[key][service] = true
	}
	return before
}

// Forget is for a cluster that is gone.
func (a *Memory) Forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.leases, key)
	delete(a.led, key)
}
