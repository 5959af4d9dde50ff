// This file looks up hosts outside of the management cluster, again and again,
// and keeps the last good answer. It decides which addresses are never dialled
// for them; it never dials.

package edge

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cldmnky/oooi/network"
)

const (
	// lookAgain is how often a host is looked up: names of content networks change
	// by the minute.
	lookAgain = 30 * time.Second
	// lookFor is how long one look may take.
	lookFor = 10 * time.Second
)

// A Lookup gives a host's IPv4 addresses. No search domain is tried where it ends
// in a dot.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// NewLookup asks the servers in /etc/resolv.conf by device only. An empty device
// asks the system's resolver, by any.
func NewLookup(device string) Lookup {
	r := net.DefaultResolver
	if device != "" {
		r = &net.Resolver{PreferGo: true, Dial: Dialer(device).DialContext}
	}
	return func(ctx context.Context, host string) ([]netip.Addr, error) {
		if a, err := netip.ParseAddr(strings.TrimSuffix(host, ".")); err == nil {
			return []netip.Addr{a}, nil
		}
		return r.LookupNetIP(ctx, "ip4", host)
	}
}

// hosts are the addresses of hosts that somebody wants.
type hosts struct {
	lookup Lookup
	log    *slog.Logger
	signal signal

	mu    sync.Mutex
	known map[string]*host
}

// A host is what is known of one: whether it was looked up, and the last answer,
// nil where there has been none.
type host struct {
	stop      context.CancelFunc
	tried     bool
	failed    string
	addresses []netip.Addr
}

// want looks these up until ctx ends or they are not wanted any more.
func (h *hosts) want(ctx context.Context, names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, x := range h.known {
		if !slices.Contains(names, name) {
			x.stop()
			delete(h.known, name)
		}
	}
	for _, name := range names {
		if h.known[name] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		x := &host{stop: stop}
		h.known[name] = x
		go h.follow(ctx, name, x)
	}
}

func (h *hosts) follow(ctx context.Context, name string, x *host) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		h.look(ctx, name, x)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *hosts) look(ctx context.Context, name string, x *host) {
	looking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	found, err := h.lookup(looking, name)
	if ctx.Err() != nil {
		return
	}
	for i, a := range found {
		found[i] = a.Unmap()
	}
	slices.SortFunc(found, netip.Addr.Compare)
	found = slices.Compact(found)
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	h.mu.Lock()
	changed := !x.tried || err == nil && !slices.Equal(found, x.addresses)
	said := failed == x.failed
	x.tried, x.failed = true, failed
	if err == nil {
		x.addresses = found
	}
	h.mu.Unlock()
	if !said && err != nil {
		h.log.Warn("external host not resolved, using its last known addresses", "host", name, "err", err)
	}
	if changed {
		h.signal.notify()
	}
}

// addresses of a host by the last answer, nil where there was none; tried says
// whether it was looked up at all.
func (h *hosts) addresses(name string) (all []netip.Addr, tried bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.known[name]
	if x == nil {
		return nil, false
	}
	return x.addresses, x.tried
}

// never says why an address is not dialled for x, a host outside of the management
// cluster, whoever answered with it: it is the edge's own, the network's, no
// host's, or inside the management cluster. Own are the addresses that the edge
// holds. Empty: it is dialled. An HTTP proxy is dialled also where it is inside:
// the operator was told of it by who runs that cluster.
func never(n network.Network, x network.Backend, own []netip.Addr, a netip.Addr) string {
	switch {
	case !a.Is4():
		return "it is not an IPv4 address"
	case a.IsUnspecified(), a.As4()[0] == 0:
		return "it is no host's"
	case a.IsLoopback(), slices.Contains(own, a), holds(n, a):
		return "it is the edge's own"
	case a.IsLinkLocalUnicast():
		return "it is link-local"
	case a.As4()[0] >= 224:
		return "it is multicast, broadcast or reserved"
	case n.CIDR.Contains(a):
		return "it is on the network itself"
	case x.HTTPProxy != "":
		return ""
	case a == wireServer:
		return "it is the cloud's own"
	case inside(n, a, x.Port):
		return "it is inside the management cluster"
	}
	return ""
}

// wireServer is where Azure tells a virtual machine who it is: what
// 169.254.169.254 is elsewhere (Microsoft's documentation, "What is IP address
// 168.63.129.16?").
var wireServer = netip.AddrFrom4([4]byte{168, 63, 129, 16})

// inside says whether port of a is in the management cluster, as far as the plan
// and the pod's own environment know: its API server, a backend's Service, a pod,
// or what a node itself runs. A node's other ports may be dialled: on bare metal
// that cluster's ingress, and so a mirror published by it, is at them.
func inside(n network.Network, a netip.Addr, port uint16) bool {
	api, err := netip.ParseAddr(os.Getenv("KUBERNETES_SERVICE_HOST"))
	if err == nil && api == a {
		return true
	}
	for _, b := range n.Backends {
		if b.ClusterIP == a {
			return true
		}
	}
	holds := func(p netip.Prefix) bool { return p.Contains(a) }
	return slices.ContainsFunc(n.ReservedDestinations, holds) || network.NodesOwn(port) && slices.ContainsFunc(n.ReservedNodes, holds)
}

// holds says whether edges of n hold a, or may come to.
func holds(n network.Network, a netip.Addr) bool {
	if a == n.NextHopVIP || a == n.ServiceVIP || slices.Contains(n.ReservedAddresses, a) || slices.Contains(n.PublishedAddresses, a) {
		return true
	}
	return slices.ContainsFunc(n.Edges, func(e network.Edge) bool { return e.Address == a })
}

// ownAddresses are those of every interface here.
func ownAddresses() []netip.Addr {
	var out []netip.Addr
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}
