// This file decides which destinations on the pod network an edge cannot reach. Either the kernel
// routes them to the network's device, or the edge holds the address itself. It also decides which
// client networks the edge does not reach. The plan does not know the node, so the edge checks its
// own routes.

package serving

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
)

// Routes are the kernel's routes and the addresses of the network's interface. With the zero value,
// every destination counts as reachable.
type Routes struct{ device.Snapshot }

// missingClientRoutes returns the client networks of n to which the kernel has no route through the
// interface in parameter on, in their order. Packets to these networks take another route, or the
// kernel looks for the host on the network itself.
func (r Routes) missingClientRoutes(n network.Network, on string) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(n.ClientNetworks), func(p netip.Prefix) bool {
		return slices.ContainsFunc(r.Snapshot.Routes, func(x device.Route) bool { return x.To == p && x.Device == on })
	})
}

// CutOff returns nil if all places are reachable without n's device, and the edge does not hold
// their addresses. Of each place, it checks the first address of the prefix. The error lists the
// others and the fix.
func (r Routes) CutOff(n network.Network, device string, places ...network.ReservedDestination) error {
	var errs []error
	for _, p := range places {
		a := p.Prefix.Addr()
		if r.Has(a) {
			errs = append(errs, fmt.Errorf("network %s assigns %s to the edge, so %s is unreachable: publish the endpoint at an address other than %s", n.Name, a, p.What, a))
			continue
		}
		switch x, ok := r.RouteTo(a); {
		case !ok || x.Device != device:
		case x.To == n.CIDR:
			errs = append(errs, fmt.Errorf("CIDR %s of network %s on %s contains %s (%s), which is unreachable: choose another CIDR for the network", n.CIDR, n.Name, device, a, p.What))
		case slices.Contains(n.ClientNetworks, x.To):
			errs = append(errs, fmt.Errorf("client network %s of network %s contains %s (%s), which is unreachable: set annotation client-networks to smaller networks", x.To, n.Name, a, p.What))
		default:
			errs = append(errs, fmt.Errorf("route %s sends packets for %s (%s) to %s, the device of network %s, so it is unreachable: remove the route from the NetworkAttachmentDefinition", x.To, a, p.What, device, n.Name))
		}
	}
	return errors.Join(errs...)
}
