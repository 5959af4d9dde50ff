// This file reads how many open files the container may have, and counts and resets connections for the Gate.

package main

import (
	"log/slog"
	"net/netip"
	"syscall"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
)

// openFiles returns how many files a process may have open: the hard limit, equal in all containers of a pod. Zero:
// unknown.
func openFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Max
}

// newGate returns a Gate that counts the connections on an interface, and a function that closes its sources. If the
// kernel does not allow counting, only Envoy's own limits apply.
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
