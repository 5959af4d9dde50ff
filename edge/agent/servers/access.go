// This file opens the sockets of the access proxy while the plan opens destinations and the kernel does not forward packets. A
// fault here changes neither readiness nor what VMs get.

package servers

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
)

// loopback is the device of callers in the pod itself, such as `oc port-forward`.
const loopback = "lo"

// An Access runs the access proxy of one edge.
type Access struct {
	// Interface is the edge's interface on the network. While the kernel forwards packets, nothing is served.
	Interface serving.Interface
	Source    *inforce.Source
	// Device is the pod's interface on the cluster network.
	Device string
	Server *access.Server
	Log    *slog.Logger
	// Report gets, after each change, the open ports of load balancers, and the plain ports that cannot be opened, sorted. Nil:
	// nothing is reported.
	Report func(balanced, closed []uint16)
	// Status is kept by Run: whether callers are served.
	Status serving.Status
}

// Run serves until ctx ends, and ends the tunnels that the plan no longer opens. The caller calls Server.Run.
func (a *Access) Run(ctx context.Context) error {
	serving.AtEach(ctx, serving.Triggers{Plan: a.Source.Changed}, func() { a.Server.Set(policyOf(a.Source.Current())) })
	planned := func() bool { return a.Source.Current().Network.Access.HasProxy() }
	return serving.WhilePlanned(ctx, a.Source.Changed, planned, func(ctx context.Context) error {
		triggers := serving.Triggers{Interface: a.Interface.Changed, Plan: a.Source.Changed}
		// The socket is bound to the device, so only packets to the pod's addresses there reach it.
		return serving.While(ctx, &a.Status, a.Log, triggers, func() error { return a.Interface.Admissible(netip.IPv4Unspecified()) }, a.serve)
	})
}

// policyOf returns the access.Policy of v.
func policyOf(v inforce.View) access.Policy {
	p := access.Policy{Network: v.Network, Edge: v.Edge.Address}
	for _, domain := range []string{v.Network.DHCP.DomainName, v.Cluster.Domain} {
		if domain = strings.ToLower(strings.Trim(domain, ".")); domain != "" && !slices.Contains(p.Domains, domain) {
			p.Domains = append(p.Domains, domain)
		}
	}
	return p
}

// An accessSocket is one that callers dial. listen is its port, or 0 for CONNECT.
type accessSocket struct {
	device string
	at     netip.AddrPort
	listen uint16
}

// accessSockets returns the sockets for a. The sockets for CONNECT come first: the one on device, then the one on loopback.
func accessSockets(a network.Access, device string) []accessSocket {
	var out []accessSocket
	if a.Port != 0 {
		out = append(out,
			accessSocket{device, netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port), 0},
			accessSocket{loopback, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port), 0})
	}
	for _, port := range access.Ports(a) {
		out = append(out, accessSocket{device, netip.AddrPortFrom(netip.IPv4Unspecified(), port), port})
	}
	return out
}

// serve keeps the sockets of the plan open until ctx ends, and then ends all tunnels. If a plain port cannot be opened, serve
// keeps the other sockets open.
func (a *Access) serve(ctx context.Context, ready func()) error {
	open := map[accessSocket]func(){}
	var refused map[accessSocket]string // why serve ends before ctx
	var served sync.WaitGroup
	defer served.Wait()
	defer a.Server.CutAll()
	defer func() {
		for _, stop := range open {
			stop()
		}
		a.report(nil, nil, refused)
	}()
	failed := map[accessSocket]string{}
	for {
		wait := serving.Triggers{Plan: a.Source.Changed}.Wait()
		now := a.Source.Current().Network.Access
		want := accessSockets(now, a.Device)
		for at, stop := range open {
			if !slices.Contains(want, at) {
				stop()
				delete(open, at)
			}
		}
		maps.DeleteFunc(failed, func(at accessSocket, _ string) bool { return !slices.Contains(want, at) })
		pause := serving.UntilChange
		for _, at := range want {
			if open[at] != nil {
				continue
			}
			stop, err := a.open(ctx, at, &served)
			switch {
			case err == nil:
				open[at] = stop
				delete(failed, at)
			case at.listen == 0 && at.device != loopback:
				refused = map[accessSocket]string{at: err.Error()}
				return err
			default:
				if pause = serving.CheckInterval; failed[at] != err.Error() {
					failed[at] = err.Error()
					a.Log.Warn("a port for callers is not open", "address", at.at, "interface", at.device, "err", err)
				}
			}
		}
		a.report(now.Balanced(), open, failed)
		ready()
		if wait(ctx, pause); ctx.Err() != nil {
			return nil
		}
	}
}

// report reports which of these ports are open, and which ports on the pod network cannot be opened.
func (a *Access) report(ports []uint16, open map[accessSocket]func(), failed map[accessSocket]string) {
	if a.Report == nil {
		return
	}
	var balanced, closed []uint16
	for at := range open {
		if slices.Contains(ports, at.listen) {
			balanced = append(balanced, at.listen)
		}
	}
	for at := range failed {
		if at.device != loopback {
			closed = append(closed, at.at.Port())
		}
	}
	slices.Sort(balanced)
	slices.Sort(closed)
	a.Report(balanced, closed)
}

// open opens one socket until stop, and accepts callers.
func (a *Access) open(ctx context.Context, at accessSocket, served *sync.WaitGroup) (stop func(), err error) {
	l, err := socket.Listen(ctx, at.device, at.at)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	served.Go(func() {
		defer close(ended)
		if err := a.Server.Serve(ctx, l, at.listen); err != nil {
			a.Log.Warn("a port for callers is closed", "address", at.at, "interface", at.device, "err", err)
		}
	})
	a.Log.Info("serving callers", "address", at.at, "interface", at.device)
	// The port is free once stop returns.
	return func() { cancel(); <-ended }, nil
}
