// This file decides whether a server may serve on the network's interface, and what it reaches
// through the pod network.

package serving

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/network/resolvconf"
	"github.com/cldmnky/oooi/reported"
)

// An Interface is the network interface that an edge serves on.
type Interface struct {
	Name string
	// InPod: the edge runs in a pod. Otherwise forwarding and routes belong to the host, and are not
	// checked.
	InPod bool
	// Watcher keeps the snapshot for all decisions. Nil: each call reads the kernel.
	Watcher Watcher
}

// A Watcher returns the newest snapshot of an interface. device.Watcher implements it.
type Watcher interface {
	Current() (device.Snapshot, error)
	Changed() <-chan struct{}
}

// Changed returns a channel that is closed when an answer of the Interface may have changed, nil
// without a Watcher.
func (i Interface) Changed() <-chan struct{} {
	if i.Watcher == nil {
		return nil
	}
	return i.Watcher.Changed()
}

// An Unread is why the kernel's state is unknown. It is not a reason to stop serving.
type Unread struct{ Err error }

// Error implements error.
func (u Unread) Error() string { return u.Err.Error() }

// Unwrap returns the reason.
func (u Unread) Unwrap() error { return u.Err }

// snapshot returns an Unread if the kernel does not answer, but not for a missing interface.
func (i Interface) snapshot() (s device.Snapshot, err error) {
	if i.Watcher == nil {
		s, err = device.Read(i.Name)
	} else {
		s, err = i.Watcher.Current()
	}
	if err != nil && !errors.Is(err, device.ErrNoInterface) {
		err = Unread{err}
	}
	return s, err
}

// Admissible returns nil if a server may serve at address: the interface has it or answers for it,
// and the kernel does not forward packets. The unspecified address counts as present.
func (i Interface) Admissible(address netip.Addr) error {
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
	if err == nil && i.InPod && s.OnVIPDevice(address) {
		err = i.answers(address)
	}
	if err != nil || address.IsUnspecified() || s.Has(address) {
		return err
	}
	return fmt.Errorf("waiting for %s on interface %s", address, i.Name)
}

// answers returns nil if the kernel answers ARP requests on the interface for address, which another
// interface has.
func (i Interface) answers(address netip.Addr) error {
	level, err := device.IPv4Setting("/", i.Name, "arp_ignore")
	if err != nil {
		return Unread{fmt.Errorf("checking whether %s answers for %s: %w", i.Name, address, err)}
	}
	if level > 0 {
		return fmt.Errorf("with arp_ignore=%d the kernel does not answer for %s on interface %s: set net.ipv4.conf.all.arp_ignore=0 on the management nodes, then restart the edge's pod", level, address, i.Name)
	}
	return nil
}

// Believes returns which false information the kernel accepts from VMs, as the causes of problems:
// forged source addresses of the pod network, redirects and routers. Missing routes to client
// networks of n are also among the causes. Empty: nothing is known, or the edge runs outside of a
// pod.
func (i Interface) Believes(n network.Network) []problem.Cause {
	s, err := i.snapshot()
	if err != nil || !i.InPod {
		return nil
	}
	var out []problem.Cause
	if !s.VerifiesSources {
		out = append(out, problem.EdgeAnswersForgedSources)
		// The kernel accepts a redirect only from its router on the pod network, so a VM must forge that
		// address.
		if level, err := device.IPv4Setting("/", i.Name, "accept_redirects"); err == nil && level > 0 {
			out = append(out, problem.EdgeTakesForgedRedirects)
		}
	}
	if !s.VerifiesIPv6Sources {
		out = append(out, problem.EdgeAnswersForgedIPv6Sources)
	}
	if len(s.IPv6Routes) > 0 {
		out = append(out, problem.EdgeHasAdvertisedRoute)
	}
	if len(Routes{Snapshot: s}.missingClientRoutes(n, i.Name)) > 0 {
		out = append(out, problem.EdgeLacksClientRoutes)
	}
	return out
}

// Lost returns the upstream DNS servers in client networks to which the kernel has no route on the
// interface: any VM could answer for them. While the routes are unknown, it returns all upstream DNS
// servers in client networks. Outside of a pod, there are none: routes are the user's.
func (i Interface) Lost(n network.Network) (servers []netip.AddrPort) {
	if len(n.ClientNetworks) == 0 || len(n.DNS.Upstreams.Servers) == 0 || !i.InPod {
		return nil
	}
	missing := n.ClientNetworks
	if r, err := i.Routes(); err == nil {
		missing = r.missingClientRoutes(n, i.Name)
	}
	for _, server := range n.DNS.Upstreams.Servers {
		if slices.ContainsFunc(missing, func(p netip.Prefix) bool { return p.Contains(server.Addr()) }) {
			servers = append(servers, server)
		}
	}
	return servers
}

// maxVIPsAsked limits how many shared addresses the kernel is made to ask for.
const maxVIPsAsked = 8

// Askable returns the shared addresses of n and reported.Controls(n), if the kernel can ask for them from
// an address that edges do not answer. Result from is that address.
func (i Interface) Askable(n network.Network) (addresses []netip.Addr, from netip.Addr) {
	s, err := i.snapshot()
	if err != nil || !i.InPod || !s.VerifiesSources {
		return nil, from
	}
	for _, a := range n.SharedAddresses() {
		if s.OnVIPDevice(a) && len(addresses) < maxVIPsAsked {
			addresses = append(addresses, a)
		}
	}
	if from = s.AddressOutside(n.CIDR); !from.IsValid() || len(addresses) == 0 {
		return nil, from
	}
	// If arp_announce is above 0, the kernel asks from the edge address, and the peer answers a request from
	// there.
	if level, err := device.IPv4Setting("/", i.Name, "arp_announce"); err != nil || level > 0 {
		return nil, from
	}
	return append(addresses, reported.Controls(n)...), from
}

// Addresses returns the interface's addresses. It returns an error without a carrier.
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

// Routes returns the kernel's routes. Outside of a pod they are empty, so that every destination counts
// as reachable.
func (i Interface) Routes() (Routes, error) {
	if !i.InPod {
		return Routes{}, nil
	}
	s, err := i.snapshot()
	return Routes{Snapshot: s}, err
}

// Reaches returns nil if all places are reachable without n's interface.
func (i Interface) Reaches(n network.Network, places ...network.ReservedDestination) error {
	r, err := i.Routes()
	if err != nil {
		return err
	}
	return r.CutOff(n, i.Name, places...)
}

// APIServer returns the API server at address, KUBERNETES_SERVICE_HOST of a pod. Nil: it is not an
// IP address.
func APIServer(address string) []network.ReservedDestination {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return nil
	}
	return []network.ReservedDestination{PlaceOf("the API server", a)}
}

// Resolvers returns the name servers in the text of resolv.conf.
func Resolvers(text string) []network.ReservedDestination {
	var out []network.ReservedDestination
	for _, s := range resolvconf.Parse(text).Servers {
		out = append(out, PlaceOf("the resolver", s.Addr()))
	}
	return out
}

// PlaceOf returns a destination of one address.
func PlaceOf(what string, a netip.Addr) network.ReservedDestination {
	return network.ReservedDestination{What: what, Prefix: network.Host(a), Required: true}
}
