// Package backends resolves every kind of backend to the addresses to dial: from EndpointSlices,
// leases, VMs, and DNS answers for external hosts. It drops addresses that belong to oooi.
package backends

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
)

// Backends resolves the backends of one network. A file caches the endpoints for an edge that
// starts while the API server or the resolver is unavailable.
type Backends struct {
	kube   *kube.Kube
	hosts  externalHosts
	file   string
	log    *slog.Logger
	signal signal.Signal

	mu      sync.Mutex
	network network.Network
	// pods is nil outside of a cluster. leases and vms are nil until a backend needs them.
	pods    *kube.EndpointSlices
	leases  *kube.Leases
	vms     *kube.VMs
	cached  map[string][]netip.AddrPort
	refused map[string]bool
	written string
}

// New returns Backends that watch the objects of kube, nil outside of a cluster, and resolve
// external hosts through lookup, until ctx ends. file caches the endpoints, unless it is empty. If
// file cannot be read, New returns the error together with a usable value.
func New(ctx context.Context, kube *kube.Kube, lookup Lookup, file string, log *slog.Logger) (*Backends, error) {
	b := &Backends{
		kube: kube, file: file, log: log,
		hosts:  externalHosts{lookup: lookup, log: log, known: map[string]*externalHost{}},
		cached: map[string][]netip.AddrPort{}, refused: map[string]bool{},
	}
	b.forward(ctx, b.hosts.signal.Changed)
	if kube != nil {
		b.pods = kube.EndpointSlices(ctx)
		b.forward(ctx, b.pods.Changed)
	}
	go b.run(ctx)
	if file == "" {
		return b, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		err = json.Unmarshal(text, &b.cached)
	}
	return b, err
}

// Follow watches the objects and external hosts of n's backends until ctx ends, and stops resolving
// other hosts.
func (b *Backends) Follow(ctx context.Context, n network.Network) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.network = n
	var names []string
	for _, x := range n.Backends {
		switch {
		case x.Kind == network.BackendExternal:
			if host, _, ok := target(x); ok {
				names = append(names, host)
			}
		case byLease(x) && b.kube != nil && b.leases == nil:
			b.leases, b.vms = b.kube.Leases(ctx, n.Name), b.kube.VMs(ctx, n.CIDR)
			b.forward(ctx, b.leases.Changed)
			b.forward(ctx, b.vms.Changed)
			go func() {
				if signal.Poll(ctx, b.vmsSeen) {
					b.signal.Notify()
				}
			}()
		}
	}
	b.hosts.follow(ctx, names)
}

// Changed returns a channel that is closed when Endpoints may have changed since this call.
func (b *Backends) Changed() <-chan struct{} { return b.signal.Changed() }

// Endpoints returns the addresses to dial for x, sorted: for an external host behind an HTTP proxy,
// the addresses of the proxy. Nil: nothing is known about x. Empty: x has no endpoints.
func (b *Backends) Endpoints(x network.Backend) []netip.AddrPort {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.endpoints(x)
}

func (b *Backends) endpoints(x network.Backend) []netip.AddrPort {
	if x.Kind == network.BackendPods {
		if b.pods == nil {
			return nil
		}
		return b.pods.Endpoints(x)
	}
	found := b.found(x)
	if found == nil {
		found = b.cached[x.Name]
	}
	if found == nil && b.kube == nil && x.Kind == network.BackendVMs {
		found = b.possible(x)
	}
	if found == nil {
		return nil
	}
	var own []netip.Addr
	if x.Kind == network.BackendExternal {
		own = ownAddresses()
	}
	out := []netip.AddrPort{}
	for _, a := range found {
		if x.Kind == network.BackendVMs && b.isVMAddress(a.Addr()) || x.Kind == network.BackendExternal && b.isDialable(x, own, a.Addr()) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

// found returns all addresses reported for x, unfiltered. Nil: none was reported yet.
func (b *Backends) found(x network.Backend) []netip.AddrPort {
	switch {
	case x.Kind == network.BackendExternal:
		host, port, ok := target(x)
		all, _ := b.hosts.addresses(host)
		if !ok || all == nil {
			return nil
		}
		return withPort(all, port)
	case byLease(x):
		if !b.vmsSeen() {
			return nil
		}
		return withPort(inUse(b.leases.All(), b.vms, time.Now()), x.VMPort())
	case b.pods == nil || b.pods.Ready() != nil:
		return nil
	}
	if all := b.pods.Endpoints(x); all != nil {
		return all
	}
	return []netip.AddrPort{}
}

// maxPossible limits the addresses that are dialed while the VMs are unknown.
const maxPossible = 1024

// possible returns every address that the plan lets a VM have, with the port of x. It is for an
// edge outside of a cluster. Envoy finds out which of them accept connections.
func (b *Backends) possible(x network.Backend) []netip.AddrPort {
	port := x.VMPort()
	if port == 0 {
		return nil
	}
	return withPort(b.network.DHCP.Assignable(maxPossible), port)
}

// byLease reports whether x selects every VM of the network.
func byLease(x network.Backend) bool {
	return x.Kind == network.BackendVMs && (x.Service == "" || x.ByLease)
}

// inUse returns the addresses of the cluster's VMs: those with an unexpired lease, and those
// that KubeVirt reports unless another MAC holds the lease.
func inUse(leases []network.Lease, vms *kube.VMs, now time.Time) []netip.Addr {
	var out []netip.Addr
	macOf := map[netip.Addr]string{}
	for _, l := range leases {
		if !l.Held(now) {
			continue
		}
		macOf[l.Address] = l.MAC
		if _, _, ok := vms.VM(l.MAC); ok {
			out = append(out, l.Address)
		}
	}
	for a, mac := range vms.Reported() {
		if leased, ok := macOf[a]; !ok || leased == mac {
			out = append(out, a)
		}
	}
	return out
}

// target returns what to dial for an external host: its HTTP proxy, resolved with the pod's
// search domains, or its own fully qualified name.
func target(x network.Backend) (host string, port uint16, ok bool) {
	if x.HTTPProxy == "" {
		return strings.TrimSuffix(x.Host, ".") + ".", x.Port, x.Host != ""
	}
	host, text, err := net.SplitHostPort(x.HTTPProxy)
	number, wrong := strconv.ParseUint(text, 10, 16)
	return host, uint16(number), err == nil && wrong == nil && host != ""
}

func withPort(all []netip.Addr, port uint16) []netip.AddrPort {
	out := []netip.AddrPort{}
	for _, a := range all {
		out = append(out, netip.AddrPortFrom(a, port))
	}
	return out
}

// isVMAddress reports whether a VM may have a: a host address of the network, but not oooi's or
// the router's.
func (b *Backends) isVMAddress(a netip.Addr) bool {
	n := b.network
	return n.CIDR.Contains(a) && a != n.CIDR.Addr() && n.CIDR.Contains(a.Next()) && a != n.DHCP.Router && !isEdgeAddress(n, a)
}

// isDialable reports whether address a may be dialed for x. It logs each refused address once.
func (b *Backends) isDialable(x network.Backend, own []netip.Addr, a netip.Addr) bool {
	why := refusalReason(b.network, x, own, a)
	if refusal := x.Name + " " + a.String(); why != "" && !b.refused[refusal] {
		b.refused[refusal] = true
		b.log.Warn("address of an external host not dialed", "backend", x.Name, "address", a, "err", why)
	}
	return why == ""
}

// Seen waits until each backend was looked up at least once. False: ctx ended first.
func (b *Backends) Seen(ctx context.Context) bool {
	return signal.Poll(ctx, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, x := range b.network.Backends {
			tried := b.kube == nil || b.pods.Ready() == nil
			switch {
			case x.Kind == network.BackendExternal:
				host, _, ok := target(x)
				_, tried = b.hosts.addresses(host)
				tried = tried || !ok
			case byLease(x):
				tried = b.kube == nil || b.vmsSeen()
			}
			if !tried {
				return false
			}
		}
		return true
	})
}

func (b *Backends) vmsSeen() bool {
	return b.leases != nil && b.leases.Ready() == nil && b.vms.Ready() == nil
}

// forward signals b's followers at each change of one part, until ctx ends.
func (b *Backends) forward(ctx context.Context, changed func() <-chan struct{}) {
	go func() {
		for part := changed(); ; {
			select {
			case <-ctx.Done():
				return
			case <-part:
			}
			// The next channel is taken before the signal, so no change is missed.
			part = changed()
			b.signal.Notify()
		}
	}()
}

// run updates the cache file at each change. It signals a change every resolveInterval, since
// leases expire without an event.
func (b *Backends) run(ctx context.Context) {
	tick := time.NewTicker(resolveInterval)
	defer tick.Stop()
	for changed := b.signal.Changed(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.signal.Notify()
		case <-changed:
		}
		changed = b.signal.Changed()
		if err := b.writeCache(); err != nil {
			b.log.Warn("endpoints not cached", "file", b.file, "err", err)
		}
	}
}

// writeCache saves the endpoints, without pods: the plan has their Service's address.
func (b *Backends) writeCache() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == "" || b.network.Name == "" {
		return nil
	}
	all := map[string][]netip.AddrPort{}
	for _, x := range b.network.Backends {
		if at := b.endpoints(x); at != nil && x.Kind != network.BackendPods {
			all[x.Name] = at
		}
	}
	text, err := json.Marshal(all)
	if err != nil || string(text) == b.written {
		return err
	}
	if err := sharedfiles.Replace(b.file, text); err != nil {
		return err
	}
	b.written = string(text)
	return nil
}
