// Package trial tests on a network what its VMs need to become nodes, and what must not answer there. Its host acts as a VM: it
// has an address of the network, and routes through the next-hop VIP. It uses no privilege. This file lists the trials and runs
// them.
package trial

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// atOnce is how many trials run at the same time.
	atOnce = 8
	// answersWithin bounds one question, and is longer than an edge waits for a backend.
	answersWithin = 10 * time.Second
	// isolatedAfter is how long a host that must not be reached has to answer.
	isolatedAfter = 3 * time.Second
)

// Options are what Run needs.
type Options struct {
	// Device is the interface on the network.
	Device string
	// Network is the plan of this network.
	Network network.Network
	// EdgeMACs are the MACs of the edges, in lower case with colons. Empty: unknown.
	EdgeMACs []string
	// Unreachable are hosts of the management cluster that VMs must not reach.
	Unreachable []netip.AddrPort
}

// A tool runs trials on one device.
type tool struct {
	device string
	mac    net.HardwareAddr
	from   netip.Addr
	dialer *net.Dialer
	// kernel knows the routers, and the MACs of hosts on the device.
	kernel *device.Meter
}

// newTool returns a tool for the device of o. The caller closes it.
func newTool(o Options) (tool, error) {
	ifi, err := net.InterfaceByName(o.Device)
	if err != nil {
		return tool{}, fmt.Errorf("interface %s: %w", o.Device, err)
	}
	from, err := device.FirstAddress(o.Device)
	if err != nil {
		return tool{}, err
	}
	kernel, err := device.OpenMeter(o.Device)
	return tool{device: o.Device, mac: ifi.HardwareAddr, from: from, dialer: socket.Dialer(o.Device), kernel: kernel}, err
}

func (w tool) close() { w.kernel.Close() }

// Run runs each trial once. The hosts of the shared addresses come first, since they explain other failures. The rest is in the
// order of the trials.
func Run(ctx context.Context, o Options) ([]network.TrialResult, error) {
	w, err := newTool(o)
	if err != nil {
		return nil, err
	}
	defer w.close()
	others, unasked := otherHosts(ctx, o)
	trials := o.Network.Trials(w.from)
	out := make([]network.TrialResult, len(trials)+len(o.Unreachable))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, t := range trials {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, answersWithin)
			defer cancel()
			out[i] = w.try(ctx, t, o.Network)
			return nil
		})
	}
	for i, a := range o.Unreachable {
		g.Go(func() error { out[len(trials)+i] = w.isolated(ctx, a, o.Network); return nil })
	}
	err = g.Wait()
	if err != nil || len(o.EdgeMACs) == 0 {
		return out, err
	}
	first := owners(o, others, w.kernel.MACOf)
	if unasked != nil {
		first = append(first, network.TrialResult{Name: "no other host has a VIP", Problems: unread(unasked)})
	}
	return append(first, out...), nil
}

func (w tool) try(ctx context.Context, t network.Trial, n network.Network) network.TrialResult {
	out := network.TrialResult{Name: titleOf(t), Aside: t.Optional}
	if a := t.At.Addr(); a.IsValid() && !n.CIDR.Contains(a) {
		if _, leads := w.kernel.NextHop(a); !leads {
			out.Problems = elsewhere(a)
			return out
		}
	}
	switch t.Kind {
	case network.TrialDHCP:
		out.Problems = w.address(ctx, n)
		return out // An offer of another server is a fault, whatever edges run.
	case network.TrialName:
		out.Problems = w.resolves(ctx, t)
	case network.TrialTime:
		out.Problems = w.time(ctx, t.At)
	case network.TrialEndpoint:
		out.Problems = w.endpoint(ctx, t)
	case network.TrialRefused:
		out.Problems = w.refuses(ctx, t)
	}
	if t.Optional {
		out.Problems = out.Problems.NotBlocking()
	}
	return out
}

// found returns one problem as a list.
func found(c problem.Cause, args problem.Args) problem.Problems {
	return problem.Problems{problem.New(c, problem.Subject{}, args)}
}

// unread returns the problem that err prevented a trial.
func unread(err error) problem.Problems {
	return found(problem.Unread, problem.Args{"error": {err.Error()}})
}

// titleOf names what is tried, for people.
func titleOf(t network.Trial) string {
	switch t.Kind {
	case network.TrialDHCP:
		return "DHCP"
	case network.TrialTime:
		return "time of " + t.At.Addr().String()
	case network.TrialName:
		if len(t.Want) == 0 {
			return "no answer for name " + t.Name
		}
		return "name " + t.Name
	case network.TrialRefused:
		return fmt.Sprintf("no answer from %s for server name %s", t.At, t.Name)
	}
	if t.Name == "" {
		return fmt.Sprintf("%s at %s", t.Backend, t.At)
	}
	return fmt.Sprintf("%s at %s for %s", t.Backend, t.At, t.Name)
}

// orNone returns text that is never empty.
func orNone(list string) string { return cmp.Or(list, "none") }
