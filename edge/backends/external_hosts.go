// This file resolves external hosts periodically, keeps the last known good answer, and decides
// which addresses are never dialed.

package backends

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
)

const (
	// resolveInterval is how often a host is resolved. Content delivery networks change every few
	// minutes.
	resolveInterval = 30 * time.Second
	// resolveTimeout limits one lookup.
	resolveTimeout = 10 * time.Second
)

// A Lookup returns a host's IPv4 addresses, without search domains if host ends with a dot.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// NewLookup returns a Lookup that queries the servers in /etc/resolv.conf through device only. If
// device is empty, the system's resolver is used, through any device.
func NewLookup(device string) Lookup {
	r := net.DefaultResolver
	if device != "" {
		r = &net.Resolver{PreferGo: true, Dial: socket.Dialer(device).DialContext}
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
	signal signal.Signal

	mu    sync.Mutex
	known map[string]*externalHost
}

// An externalHost is the state of one host. addresses is the last good answer, nil if there was
// none.
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
		go func() {
			for ctx.Err() == nil {
				h.resolve(ctx, name, x)
				signal.Sleep(ctx, resolveInterval)
			}
		}()
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
		h.signal.Notify()
	}
}

// addresses returns the last good answer for a host, nil if there was none. tried reports whether a
// lookup has finished.
func (h *externalHosts) addresses(name string) (all []netip.Addr, tried bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.known[name]
	if x == nil {
		return nil, false
	}
	return x.addresses, x.tried
}

// The refusal reasons that an administrator, or the author of the HostedCluster, can remove.
const (
	insideManagement = "it is inside the management cluster"
	behindGateway    = "it is in a client network, which edges reach only through the gateway"
)

// refusalReason returns why a must not be dialed for x, an external host, or the empty string. It
// refuses addresses of the edge and of the network, addresses in client networks and inside the
// management cluster, and special-purpose addresses. Parameter own has the edge's interface
// addresses. An HTTP proxy may be inside the management cluster, whose administrator configured
// it.
func refusalReason(n network.Network, x network.Backend, own []netip.Addr, a netip.Addr) string {
	block, special := network.SpecialBlock(a)
	switch {
	case slices.Contains(own, a), isEdgeAddress(n, a):
		return "the edge has this address"
	case !a.Is4():
		return "it is not an IPv4 address"
	case special:
		return "it is in the special-purpose block " + block.String()
	case n.CIDR.Contains(a):
		return "it is inside the network's CIDR"
	case n.BehindGateway(a):
		return behindGateway
	case x.HTTPProxy != "":
		return ""
	case !n.MayDial(a):
		return insideManagement
	}
	return ""
}

// isEdgeAddress reports whether edges of n hold address a now, or may hold it later.
func isEdgeAddress(n network.Network, a netip.Addr) bool {
	return slices.Contains(n.HeldAddresses(), a) || slices.Contains(n.PublishedAddresses, a)
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
