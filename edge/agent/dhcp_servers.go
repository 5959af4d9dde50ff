// This file finds other DHCP servers on a network: those that answer a probe, and those that
// VMs choose. It finds out their MACs. A VM can make up both, so what is kept and sent is
// limited. It decides nothing about VMs.

package agent

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
)

const (
	// serverKept is how long a server is reported after it was last chosen, or answered.
	serverKept = time.Hour
	// serverChecked is how often the MACs of servers are looked up.
	serverChecked = 10 * time.Second
	// serverAnswers is how soon a server's kernel answers an ARP request.
	serverAnswers = time.Second
)

// DHCPServers are the other DHCP servers of a network. Make one with NewDHCPServers.
type DHCPServers struct {
	// Device is the interface on the network.
	Device string
	// View returns the plan's network and this edge.
	View func() edge.View
	// Report gets the servers at each change.
	Report func([]network.UsedAddress)
	Log    *slog.Logger

	chosen chan netip.Addr
	seen   map[netip.Addr]sighting
}

// A sighting is one server.
type sighting struct {
	last time.Time
	// mac is empty until the kernel knows it.
	mac string
}

// NewDHCPServers returns DHCPServers that saw none.
func NewDHCPServers(device string, view func() edge.View, report func([]network.UsedAddress), log *slog.Logger) *DHCPServers {
	return &DHCPServers{
		Device: device, View: view, Report: report, Log: log,
		chosen: make(chan netip.Addr, network.MaxDHCPServers), seen: map[netip.Addr]sighting{},
	}
}

// Chose notes that a VM chose the server at a, or that the server answered a probe. It returns at once. While many VMs choose,
// it forgets some.
func (d *DHCPServers) Chose(a netip.Addr) {
	select {
	case d.chosen <- a:
	default:
	}
}

// Run follows the servers until ctx ends.
func (d *DHCPServers) Run(ctx context.Context) {
	var reported []network.UsedAddress
	check := time.NewTimer(serverChecked)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-d.chosen:
			if d.saw(a, time.Now()) {
				d.Log.Warn("another DHCP server found", "address", a)
				d.solicit()
				check.Reset(serverAnswers)
			}
		case <-check.C:
			d.forget(time.Now())
			d.learn()
			d.solicit()
			check.Reset(serverChecked)
		}
		if now := d.list(); !slices.Equal(now, reported) {
			reported = now
			d.Report(now)
		}
	}
}

// saw notes a server. It reports whether that is new, and kept.
func (d *DHCPServers) saw(a netip.Addr, now time.Time) (isNew bool) {
	s, known := d.seen[a]
	if !a.Is4() || !known && len(d.seen) >= network.MaxDHCPServers {
		return false
	}
	s.last = now
	d.seen[a] = s
	return !known
}

// forget removes the servers that were not seen for long.
func (d *DHCPServers) forget(now time.Time) {
	for a, s := range d.seen {
		if now.Sub(s.last) > serverKept {
			delete(d.seen, a)
		}
	}
}

// solicit asks for the MACs that are unknown. Another host of the network has the address,
// or it is on no link.
func (d *DHCPServers) solicit() {
	n := d.View().Network
	for a, s := range d.seen {
		if s.mac != "" || !n.CIDR.Contains(a) {
			continue
		}
		if err := edge.Solicit(d.Device, a); err != nil {
			d.Log.Debug("MAC of a DHCP server not found", "address", a, "err", err)
		}
	}
}

// learn takes the MACs that the kernel knows.
func (d *DHCPServers) learn() {
	if len(d.seen) == 0 {
		return
	}
	m, err := device.OpenMeter(d.Device)
	if err != nil {
		return
	}
	defer m.Close()
	all, _ := m.Neighbors()
	for _, n := range all {
		if s, ok := d.seen[n.Address]; ok {
			s.mac = n.MAC
			d.seen[n.Address] = s
		}
	}
}

// list returns the servers, sorted by their addresses.
func (d *DHCPServers) list() []network.UsedAddress {
	var out []network.UsedAddress
	for a, s := range d.seen {
		out = append(out, network.UsedAddress{Address: a, MAC: s.mac})
	}
	slices.SortFunc(out, func(a, b network.UsedAddress) int { return a.Address.Compare(b.Address) })
	return out
}
