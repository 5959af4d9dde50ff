// This file resolves external hosts periodically, and keeps the last known good answer. It
// decides which addresses are never dialed for them. It never dials.

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
	// resolveInterval is how often a host is resolved: names of content delivery networks
	// change every few minutes.
	resolveInterval = 30 * time.Second
	// resolveTimeout limits one lookup.
	resolveTimeout = 10 * time.Second
)

// A Lookup returns a host's IPv4 addresses. It tries no search domain if host ends with a
// dot.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// NewLookup queries the servers in /etc/resolv.conf through device only. With an empty
// device it uses the system's resolver through any.
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

// externalHosts holds the addresses of the hosts that backends name.
type externalHosts struct {
	lookup Lookup
	log    *slog.Logger
	signal signal

	mu    sync.Mutex
	known map[string]*externalHost
}

// An externalHost is the state of one host. Addresses is the last good answer, nil if
// there was none.
type externalHost struct {
	stop      context.CancelFunc
	tried     bool
	failed    string
	addresses []netip.Addr
}

// follow resolves names until ctx ends, and stops resolving all others.
func (h *externalHosts) follow(ctx context.Context, names []string) {
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
		x := &externalHost{stop: stop}
		h.known[name] = x
		go h.resolveLoop(ctx, name, x)
	}
}

func (h *externalHosts) resolveLoop(ctx context.Context, name string, x *externalHost) {
	tick := time.NewTicker(resolveInterval)
	defer tick.Stop()
	for {
		h.resolve(ctx, name, x)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *externalHosts) resolve(ctx context.Context, name string, x *externalHost) {
	looking, cancel := context.WithTimeout(ctx, resolveTimeout)
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
	logged := failed == x.failed
	x.tried, x.failed = true, failed
	if err == nil {
		x.addresses = found
	}
	h.mu.Unlock()
	if !logged && err != nil {
		h.log.Warn("external host not resolved, using its last known addresses", "host", name, "err", err)
	}
	if changed {
		h.signal.notify()
	}
}

// addresses returns the last good answer for a host, nil if there was none. Tried reports
// whether a lookup has finished.
func (h *externalHosts) addresses(name string) (all []netip.Addr, tried bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.known[name]
	if x == nil {
		return nil, false
	}
	return x.addresses, x.tried
}

// refusalReason returns why an address must not be dialed for x, an external host,
// whatever DNS answers. Empty: it may be dialed. It refuses addresses of the edge, of the
// network and inside the management cluster, and those that no host has. Own are the
// edge's interface addresses. An HTTP proxy inside the management cluster is allowed,
// because the cluster's administrator configured it.
func refusalReason(n network.Network, x network.Backend, own []netip.Addr, a netip.Addr) string {
	switch {
	case !a.Is4():
		return "it is not an IPv4 address"
	case a.IsUnspecified(), a.As4()[0] == 0:
		return "no host has it"
	case a.IsLoopback(), slices.Contains(own, a), isEdgeAddress(n, a):
		return "the edge has it"
	case a.IsLinkLocalUnicast():
		return "it is link-local"
	case a.As4()[0] >= 224:
		return "it is multicast, broadcast or reserved"
	case n.CIDR.Contains(a):
		return "it is inside the network's CIDR"
	case x.HTTPProxy != "":
		return ""
	case a == azureWireServer:
		return "it is the cloud's metadata address"
	case insideManagementCluster(n, a, x.Port):
		return "it is inside the management cluster"
	}
	return ""
}

// azureWireServer is Azure's address for instance metadata and the guest agent, as
// 169.254.169.254 is on other clouds. See Microsoft's "What is IP address 168.63.129.16?".
var azureWireServer = netip.AddrFrom4([4]byte{168, 63, 129, 16})

// insideManagementCluster reports whether port of a belongs to the management cluster, as
// far as the plan and the pod's environment show. These are its API server, a backend's
// Service, a pod, or a port that a node itself uses. Other ports of a node are allowed: on
// bare metal that cluster's ingress, and a mirror that it publishes, uses them.
func insideManagementCluster(n network.Network, a netip.Addr, port uint16) bool {
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

// isEdgeAddress reports whether edges of n hold a now or may hold it later.
func isEdgeAddress(n network.Network, a netip.Addr) bool {
	if a == n.NextHopVIP || a == n.ServiceVIP || slices.Contains(n.ReservedAddresses, a) || slices.Contains(n.PublishedAddresses, a) {
		return true
	}
	return slices.ContainsFunc(n.Edges, func(e network.Edge) bool { return e.Address == a })
}

// ownAddresses returns the addresses of every interface in this network namespace.
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
