// This file decides whether an edge would cut itself off from what it must reach
// by the pod network: what the kernel's own routes send to the network's device,
// or to the edge itself. A plan is made without knowing the node that an edge
// runs on, so the edge looks again. It is pure.

package edge

import (
	"errors"
	"fmt"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
)

// Routes are where the kernel sends, and what the interface of the network holds. The
// zero value cuts nothing off.
type Routes struct{ device.Snapshot }

// CutOff is nil where none of places is sent to n's device or kept by the edge,
// else it says which are, and what to do. Of a place that is a network, its first
// address is asked for.
func (r Routes) CutOff(n network.Network, device string, places ...network.ReservedDestination) error {
	var errs []error
	for _, p := range places {
		a := p.Prefix.Addr()
		if r.Has(a) {
			errs = append(errs, fmt.Errorf("network %s has the edge hold %s itself, so %s can't be reached: publish what is at %s elsewhere", n.Name, a, p.What, a))
			continue
		}
		switch x, ok := r.RouteTo(a); {
		case !ok || x.Device != device:
		case x.To == n.CIDR:
			errs = append(errs, fmt.Errorf("%s of network %s, which is on %s, holds %s (%s) too, so that can't be reached: choose another CIDR for the network", n.CIDR, n.Name, device, a, p.What))
		default:
			errs = append(errs, fmt.Errorf("the route to %s sends what is for %s (%s) to %s, the device of network %s, so that can't be reached: take the route out of the network attachment definition", x.To, a, p.What, device, n.Name))
		}
	}
	return errors.Join(errs...)
}
