// This file decides whether a server may serve on the network's interface, and whether
// the edge reaches what it needs through the pod network. It sends nothing.

package agent

import (
	"fmt"
	"net/netip"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/dns"
)

// An Interface is the network interface that an edge serves on.
type Interface struct {
	Name string
	// InPod: the edge runs in a pod. Elsewhere forwarding and routes belong to the
	// owner of the host, and are not checked.
	InPod bool
	// Watcher keeps the snapshot that everything here is decided from. Nil: the kernel
	// is asked each time.
	Watcher *device.Watcher
}

// Changed is closed when an answer of the Interface may have changed since. It is nil
// without a Watcher.
func (i Interface) Changed() <-chan struct{} {
	if i.Watcher == nil {
		return nil
	}
	return i.Watcher.Changed()
}

func (i Interface) snapshot() (device.Snapshot, error) {
	if i.Watcher == nil {
		return device.Read(i.Name)
	}
	return i.Watcher.Current()
}

// May is nil where a server may serve at address: the interface has it, and the
// kernel does not forward what comes in. The unspecified address is always there.
func (i Interface) May(address netip.Addr) error {
	if !i.InPod && address.IsUnspecified() {
		return nil
	}
	s, err := i.snapshot()
	if err != nil {
		return err
	}
	if i.InPod {
		err = s.Isolates()
	}
	if err != nil || address.IsUnspecified() || s.Has(address) {
		return err
	}
	return fmt.Errorf("waiting for %s on interface %s", address, i.Name)
}

// Addresses of the interface. It is an error where there is no carrier.
func (i Interface) Addresses() ([]netip.Addr, error) {
	s, err := i.snapshot()
	if err != nil {
		return nil, err
	}
	if !s.Carrier {
		return nil, fmt.Errorf("interface %s has no carrier", i.Name)
	}
	var out []netip.Addr
	for _, p := range s.Addresses {
		out = append(out, p.Addr())
	}
	return out, nil
}

// Routes are the kernel's. Outside of a pod there are none that cut anything off.
func (i Interface) Routes() (edge.Routes, error) {
	if !i.InPod {
		return edge.Routes{}, nil
	}
	s, err := i.snapshot()
	return edge.Routes{Snapshot: s}, err
}

// Reaches is nil where the kernel's routes lead to all places without passing
// through n's interface, else it says which do not.
func (i Interface) Reaches(n network.Network, places ...network.ReservedDestination) error {
	r, err := i.Routes()
	if err != nil {
		return err
	}
	return r.CutOff(n, i.Name, places...)
}

// APIServer is the place at address, which Kubernetes gives to pods in
// KUBERNETES_SERVICE_HOST. None where that is no IP address.
func APIServer(address string) []network.ReservedDestination {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return nil
	}
	return []network.ReservedDestination{placeOf("the API server", a)}
}

// Resolvers are the places that resolv.conf's text names.
func Resolvers(text string) []network.ReservedDestination {
	var out []network.ReservedDestination
	for _, s := range dns.ParseResolver(text).Servers {
		out = append(out, placeOf("the resolver", s.Addr()))
	}
	return out
}

// placeOf is a place of one address.
func placeOf(what string, a netip.Addr) network.ReservedDestination {
	return network.ReservedDestination{What: what, Prefix: netip.PrefixFrom(a, a.BitLen())}
}
