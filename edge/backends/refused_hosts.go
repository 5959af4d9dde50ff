// This file finds which external hosts have addresses inside the management cluster, for the report.

package backends

import (
	"slices"

	"github.com/cldmnky/oooi/network"
)

// RefusedHosts returns the names of the external backends with an address inside the management cluster or
// in a client network, sorted. The DNS servers of these names decide when the result changes.
func (b *Backends) RefusedHosts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	own := ownAddresses()
	for _, x := range b.network.Backends {
		if x.Kind != network.BackendExternal {
			continue
		}
		for _, a := range b.found(x) {
			if reason := refusalReason(b.network, x, own, a.Addr()); reason == insideManagement || reason == behindGateway {
				out = append(out, x.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
