// This file holds `oooi ask`, the first pod of a network: it asks whether anybody
// has the addresses that its edges are to hold. It holds none of them but the one
// it asks by, and what follows is the operator's to decide.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/edge/guard"
)

const (
	// askPatience is how long an answer may take: a kernel asks three times, a
	// second apart.
	askPatience = 3 * time.Second
	// askAgain is how long later it is asked again: an address is freed, or taken. A
	// kernel believes for up to 45 s that who answered is there, so that what is
	// freed is noticed within a minute.
	askAgain = 10 * time.Second
)

func newAskCommand() *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "ask --plan FILE",
		Short: "Ask whether a network's addresses are free",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runAsk(c.Context(), f, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)).With("server", "ask"))
		},
	}
	f.add(c)
	return c
}

// runAsk asks until ctx ends. It is ready while nobody has the addresses.
func runAsk(ctx context.Context, f serverFlags, log *slog.Logger) error {
	// It is no edge, and every network has a first one.
	f.selection.Edge = 1
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	tell := func(network.Report) {}
	if kube != nil {
		where := controllers.AskReport(source.Current().Network)
		reporter := kube.Reporter(where.Name, where.Labels, where.Annotation)
		tell = reporter.Tell
		g.Go(func() error { reporter.Run(ctx); return nil })
	}
	var r readiness
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { return f.health(ctx, "ask", r.why, nil, prometheus.NewRegistry()) })
	g.Go(func() error {
		for ctx.Err() == nil {
			n := source.Current().Network
			taken, again, err := askOnce(ctx, f.device, n)
			if ctx.Err() != nil {
				break
			}
			if err == nil {
				tell(network.Report{Taken: taken})
				err = inWords(n.InTheWay(taken))
			}
			if r.set(err) {
				if err != nil {
					log.Warn("the addresses are not free", "why", err)
				} else {
					log.Info("the addresses are free")
				}
			}
			timer := time.NewTimer(again)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			timer.Stop()
		}
		return nil
	})
	return g.Wait()
}

// askOnce is who answers for addresses of n, and for controls, by which one is known
// who answers for any; and when to ask again. It is an error where nobody could be
// asked.
func askOnce(ctx context.Context, device string, n network.Network) ([]network.TakenAddress, time.Duration, error) {
	held, err := addressesOn(device)
	if err != nil {
		return nil, lookAgain, err
	}
	if !slices.ContainsFunc(held, n.CIDR.Contains) {
		return nil, lookAgain, fmt.Errorf("waiting for an address of %s on interface %s", n.CIDR, device)
	}
	owners, err := guard.Foreign(ctx, device, slices.Concat(toBeOurs(n, held), n.Controls()), netip.Addr{}, askPatience)
	if err != nil {
		return nil, lookAgain, err
	}
	var out []network.TakenAddress
	for _, o := range owners {
		out = append(out, network.TakenAddress{Address: o.Address, MAC: o.MAC})
	}
	return out, askAgain, nil
}

// addressesOn are those of a device that carries.
func addressesOn(device string) ([]netip.Addr, error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", device, err)
	}
	if i.Flags&net.FlagRunning == 0 {
		return nil, fmt.Errorf("interface %s has no carrier", device)
	}
	all, err := i.Addrs()
	if err != nil {
		return nil, fmt.Errorf("addresses of %s: %w", device, err)
	}
	var out []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr())
		}
	}
	return out, nil
}

// toBeOurs are the addresses of the VLAN that n's edges are to hold, without those
// that are held here. What HyperShift published is never of the VLAN, and may be
// somebody else's until edges answer for it: a load balancer's.
func toBeOurs(n network.Network, held []netip.Addr) []netip.Addr {
	out := []netip.Addr{n.NextHop, n.ServiceAddress}
	for _, e := range n.Edges {
		out = append(out, e.Address)
	}
	out = append(out, n.ReservedAddresses...)
	return slices.DeleteFunc(out, func(a netip.Addr) bool { return slices.Contains(held, a) })
}

// inWords is nil where nothing is taken.
func inWords(taken []network.TakenAddress) error {
	var out []string
	for _, t := range taken {
		out = append(out, fmt.Sprintf("%s by MAC %s", t.Address, t.MAC))
	}
	if len(out) == 0 {
		return nil
	}
	return fmt.Errorf("used on the VLAN already: %s", strings.Join(out, ", "))
}
