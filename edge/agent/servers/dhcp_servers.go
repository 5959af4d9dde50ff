// This file finds other DHCP servers on a network, and their MACs: those that answer a probe,
// and those that VMs choose. A VM can make up servers and MACs, so what is kept and sent is
// limited.

package servers

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/edge/agent/sightings"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/reported"
)

const (
	// serverChecked is how often the MACs of servers are looked up.
	serverChecked = 10 * time.Second
	// serverAnswers is how soon a server's kernel answers an ARP request.
	serverAnswers = time.Second
)

// DHCPServers are the other DHCP servers of a network.
type DHCPServers struct {
	// Device is the interface on the network.
	Device string
	// View returns the plan's network and this edge.
	View func() inforce.View
	// Report gets the servers at each change.
	Report func([]reported.UsedAddress)
	Log    *slog.Logger

	chosen chan choice
	seen   sightings.Hosts
	// found limits the log lines and the lookups of new servers.
	found rate.Sometimes
}

// A choice is a server that a VM chose. Without a VM, the server answered a probe of the edge.
type choice struct {
	server netip.Addr
	vm     string
}

// NewDHCPServers returns DHCPServers that have seen no server.
func NewDHCPServers(device string, view func() inforce.View, report func([]reported.UsedAddress), log *slog.Logger) *DHCPServers {
	return &DHCPServers{
		Device: device, View: view, Report: report, Log: log,
		chosen: make(chan choice, sightings.Max), found: rate.Sometimes{First: sightings.MaxReported, Interval: serverChecked},
	}
}

// Chose records that vm chose server. If vm is empty, server answered a probe. It returns
// immediately. While many VMs choose, it ignores some.
func (d *DHCPServers) Chose(vm string, server netip.Addr) {
	select {
	case d.chosen <- choice{server, vm}:
	default:
	}
}

// Run follows the servers until ctx ends.
func (d *DHCPServers) Run(ctx context.Context) {
	var reported []reported.UsedAddress
	check := time.NewTimer(serverChecked)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-d.chosen:
			d.saw(c, check)
		case <-check.C:
			d.look(time.Now())
			check.Reset(serverChecked)
		}
		if now := d.seen.List(); !slices.Equal(now, reported) {
			reported = now
			d.Report(now)
		}
	}
}

// saw records a choice. A new server's MAC is looked up soon.
func (d *DHCPServers) saw(c choice, check *time.Timer) {
	if !c.server.Is4() {
		return
	}
	var isNew bool
	if d.seen, isNew = d.seen.Note(reported.UsedAddress{Address: c.server}, c.vm, time.Now()); isNew {
		d.found.Do(func() {
			d.Log.Warn("another DHCP server found", "address", c.server, "vm", c.vm)
			d.solicit(c.server)
			check.Reset(serverAnswers)
		})
	}
}

// look forgets old servers, and finds out the MACs of the others.
func (d *DHCPServers) look(now time.Time) {
	d.seen = d.seen.Forget(now)
	if len(d.seen) == 0 {
		return
	}
	table, err := device.Neighbors(d.Device)
	if err != nil {
		d.Log.Debug("MACs of DHCP servers not found", "err", err)
	}
	d.seen = d.seen.Learn(table)
	for _, s := range d.seen {
		if s.MAC == "" {
			d.solicit(s.Address)
		}
	}
}

// solicit makes the kernel find out the MAC of a server in the network's CIDR.
func (d *DHCPServers) solicit(a netip.Addr) {
	if !d.View().Network.CIDR.Contains(a) {
		return
	}
	if err := device.Solicit(d.Device, netip.Addr{}, a); err != nil {
		d.Log.Debug("MAC of a DHCP server not found", "address", a, "err", err)
	}
}
