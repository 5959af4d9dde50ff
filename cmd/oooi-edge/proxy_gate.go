// This file gives the Gate of `oooi-edge proxy` what it reads from the kernel, and what it has the kernel reset.

package main

import (
	"log/slog"
	"net/netip"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
)

// newGate returns a Gate that counts the connections on an interface, and a function that closes what it reads. If the kernel
// permits no count, all connections are carried: then only Envoy's own limits apply.
func newGate(name string, limits resources.Limits, log *slog.Logger) (*gate.Gate, func()) {
	g := &gate.Gate{Limits: limits, Log: log}
	clients, err := device.OpenClients(name)
	if err != nil {
		g.Each = func(func(local, remote netip.AddrPort)) error { return err }
		g.MACOf = func(netip.Addr) string { return "" }
		return g, func() {}
	}
	g.Each, g.Sockets, g.MACOf = clients.Each, clients.Sockets, clients.MACOf
	resetter := device.NewResetter(clients, g.CountReset)
	g.Reset = func(all []gate.Senders) error {
		var to []device.Senders
		for _, s := range all {
			to = append(to, device.Senders(s))
		}
		return resetter.Set(to...)
	}
	return g, clients.Close
}
