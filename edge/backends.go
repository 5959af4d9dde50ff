// This file decides who stands behind every kind of backend, from what the edge
// watches: EndpointSlices, leases, machines, and what hosts outside resolve to.
// It believes nobody that an address of the network's is a machine's where that
// is ours. It never dials.

package edge

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

	"github.com/cldmnky/oooi/network"
)

// Backends knows who stands behind the backends of one network. What it has not
// seen yet it recalls from a file, so that an edge which starts while the API
// server or the resolver is away goes on where the last one ended.
type Backends struct {
	kube   *Kube
	hosts  hosts
	file   string
	log    *slog.Logger
	signal signal

	mu      sync.Mutex
	network network.Network
	// pods is nil outside of a cluster, leases and machines while no backend needs
	// them.
	pods     *EndpointSlices
	leases   *Leases
	machines *Machines
	recalled map[string][]netip.AddrPort
	refused  map[string]bool
	written  string
}

// NewBackends follows the objects of kube, nil outside of a cluster, and hosts by
// lookup, until ctx ends. Empty file: nothing is recalled. A file that can't be
// read is an error beside a value that works.
func NewBackends(ctx context.Context, kube *Kube, lookup Lookup, file string, log *slog.Logger) (*Backends, error) {
	b := &Backends{
		kube: kube, file: file, log: log,
		hosts:    hosts{lookup: lookup, log: log, known: map[string]*host{}},
		recalled: map[string][]netip.AddrPort{}, refused: map[string]bool{},
	}
	b.passOn(ctx, b.hosts.signal.changed)
	if kube != nil {
		b.pods = kube.EndpointSlices(ctx)
		b.passOn(ctx, b.pods.Changed)
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
		err = json.Unmarshal(text, &b.recalled)
	}
	return b, err
}

// Follow begins to watch what n's backends need until ctx ends, and forgets hosts
// that none of them names.
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
			b.leases, b.machines = b.kube.Leases(ctx, n.Name), b.kube.Machines(ctx, n.CIDR)
			b.passOn(ctx, b.leases.signal.changed)
			b.passOn(ctx, b.machines.signal.changed)
			go func() {
				if poll(ctx, b.machinesSeen) {
					b.signal.notify()
				}
			}()
		}
	}
	b.hosts.want(ctx, names)
}

// Changed is closed when Endpoints may have changed since it was asked.
func (b *Backends) Changed() <-chan struct{} { return b.signal.changed() }

// Endpoints are the addresses to dial for x: nil where nothing is known of it,
// empty and not nil where there is nobody. For what is outside by way of an HTTP
// proxy they are the proxy's.
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
		found = b.recalled[x.Name]
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
		if x.Kind == network.BackendVMs && b.isMachines(a.Addr()) || x.Kind == network.BackendExternal && b.isOutside(x, own, a.Addr()) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

// found is who is said to stand behind x, nil where that has not been seen.
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
		if !b.machinesSeen() {
			return nil
		}
		return withPort(inUse(b.leases.All(), b.machines, time.Now()), x.Port)
	case b.pods == nil || !b.pods.seen():
		return nil
	}
	if all := b.pods.Endpoints(x); all != nil {
		return all
	}
	return []netip.AddrPort{}
}

// byLease says that x is every machine of the network.
func byLease(x network.Backend) bool {
	return x.Kind == network.BackendVMs && x.Service == ""
}

// inUse are the addresses of machines: by a lease that has not expired, whose MAC
// a machine of the cluster has, and as machines are reported to have them where
// no other MAC has a lease. A MAC that somebody made up is nobody's.
func inUse(leases []network.Lease, machines *Machines, now time.Time) []netip.Addr {
	var out []netip.Addr
	holder := map[netip.Addr]string{}
	for _, l := range leases {
		if !l.Held(now) {
			continue
		}
		holder[l.Address] = l.MAC
		if _, _, ok := machines.VM(l.MAC); ok {
			out = append(out, l.Address)
		}
	}
	for a, mac := range machines.Reported() {
		if by, held := holder[a]; !held || by == mac {
			out = append(out, a)
		}
	}
	return out
}

// target is what is dialled for a host outside: its HTTP proxy, by a name as any
// pod may know it, or itself, by its whole name.
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

// isMachines says whether an address may be a machine's: a host of the network
// that is not ours, and not its router.
func (b *Backends) isMachines(a netip.Addr) bool {
	n := b.network
	return n.CIDR.Contains(a) && a != n.CIDR.Addr() && n.CIDR.Contains(a.Next()) && a != n.DHCP.Router && !holds(n, a)
}

func (b *Backends) isOutside(x network.Backend, own []netip.Addr, a netip.Addr) bool {
	why := never(b.network, x, own, a)
	if said := x.Name + " " + a.String(); why != "" && !b.refused[said] {
		b.refused[said] = true
		b.log.Warn("address of an external host not dialed", "backend", x.Name, "address", a, "err", why)
	}
	return why == ""
}

// Seen waits until everything that the network's backends need was seen, or tried
// to be, and is false where ctx ends before.
func (b *Backends) Seen(ctx context.Context) bool {
	return poll(ctx, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, x := range b.network.Backends {
			tried := b.kube == nil || b.pods.seen()
			switch {
			case x.Kind == network.BackendExternal:
				host, _, ok := target(x)
				_, tried = b.hosts.addresses(host)
				tried = tried || !ok
			case byLease(x):
				tried = b.kube == nil || b.machinesSeen()
			}
			if !tried {
				return false
			}
		}
		return true
	})
}

func (b *Backends) machinesSeen() bool {
	return b.leases != nil && b.leases.Ready() == nil && b.machines.Ready() == nil
}

// passOn makes the changes of a part changes of the whole, until ctx ends.
func (b *Backends) passOn(ctx context.Context, changed func() <-chan struct{}) {
	go func() {
		for part := changed(); ; {
			select {
			case <-ctx.Done():
				return
			case <-part:
			}
			// Taken before it is passed on, so that nothing is missed between.
			part = changed()
			b.signal.notify()
		}
	}()
}

// run writes what is known as it changes. Leases expire without a word, so it is
// asked again now and then.
func (b *Backends) run(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for changed := b.signal.changed(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.signal.notify()
		case <-changed:
		}
		changed = b.signal.changed()
		if err := b.remember(); err != nil {
			b.log.Warn("endpoints not cached", "file", b.file, "err", err)
		}
	}
}

// remember writes what can't be found again without the API server or the
// resolver. Pods are left out: their Service's address is in the plan.
func (b *Backends) remember() error {
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
	if err := os.WriteFile(b.file+".new", text, 0o600); err != nil {
		return err
	}
	b.written = string(text)
	return os.Rename(b.file+".new", b.file)
}
