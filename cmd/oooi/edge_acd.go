// This file holds `oooi edge acd`, the first pod of a network: it asks whether anybody
// has the addresses that its edges are to hold. It holds none of them but the one
// it asks by, and what follows is the operator's to decide.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

const (
	// askPatience is how long an answer may take: a kernel asks three times, a
	// second apart.
	askPatience = 3 * time.Second
	// askAgain is how long later it is asked again: an address is freed, or taken. A
	// kernel believes for up to 45 s that who answered is there, so that what is
	// freed is noticed within a minute.
	askAgain = 10 * time.Second
	// askOnceMore is how long after an answer that nobody has them it is asked again:
	// until the kernel has done with the question.
	askOnceMore = time.Second
	// forwardsAfter is how long a port that was just plugged in may take to forward:
	// until then nobody can answer.
	forwardsAfter = 5 * time.Second
)

// errLooking: nobody was found, and not for long enough yet.
var errLooking = errors.New("nobody has the addresses so far, they are asked for once more")

// A search is what was found of late. The zero value is that of one which begins.
type search struct {
	// since is when the first of the questions was asked that are free many in a row
	// which found nobody.
	since time.Time
	free  int
}

// next takes in what came of a question, is when to ask again, and why the addresses
// do not count as free, nil where they do.
func (s search) next(taken []network.TakenAddress, failed error, asked, now time.Time) (search, time.Duration, error) {
	switch {
	case failed != nil:
		return search{}, agent.CheckInterval, failed
	case len(taken) > 0:
		return search{}, askAgain, inWords(taken)
	case s.free == 0:
		s.since = asked
	}
	s.free++
	if s.free < 2 || now.Sub(s.since) < forwardsAfter {
		return s, askOnceMore, errLooking
	}
	return s, askAgain, nil
}

func newACDCommand() *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "acd --plan FILE",
		Short: "Check a network's addresses for conflicts before the first edge runs (RFC 5227)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runACD(c.Context(), f, f.log(c, wire.ACD))
		},
	}
	f.add(c)
	return c
}

// runACD asks until ctx ends. It is ready while nobody has the addresses, and says
// what it found when it is sure.
func runACD(ctx context.Context, f serverFlags, log *slog.Logger) error {
	// It is no edge, and every network has a first one.
	f.selection.Edge = 1
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	tell := func(network.Report) {}
	if kube != nil {
		reporter := kube.Reporter(wire.ACDReport(source.Current().Network))
		tell = reporter.Tell
		g.Go(func() error { reporter.Run(ctx); return nil })
	}
	var status agent.Status
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { return f.health(ctx, wire.ACD, status.Err, nil, prometheus.NewRegistry()) })
	g.Go(func() error {
		for s := (search{}); ctx.Err() == nil; {
			var why error
			var again time.Duration
			asked := time.Now()
			n := source.Current().Network
			taken, err := askOnce(ctx, f.device, n)
			if ctx.Err() != nil {
				break
			}
			inTheWay := n.InTheWay(taken)
			s, again, why = s.next(inTheWay, err, asked, time.Now())
			if why == nil || len(inTheWay) > 0 {
				tell(network.Report{Taken: taken})
			}
			if status.Set(why) {
				if why != nil {
					log.Warn("the addresses do not count as free", "why", why)
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

// askOnce is who answers for addresses that n asks for, and for controls, by which
// one is known who answers for any. It is an error where nobody could be asked.
func askOnce(ctx context.Context, device string, n network.Network) ([]network.TakenAddress, error) {
	held, err := (agent.Interface{Name: device}).Addresses()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(held, n.CIDR.Contains) {
		return nil, fmt.Errorf("waiting for an address of %s on interface %s", n.CIDR, device)
	}
	owners, err := failover.Foreign(ctx, device, slices.Concat(n.Asked(), n.Controls()), netip.Addr{}, askPatience)
	if err != nil {
		return nil, err
	}
	var out []network.TakenAddress
	for _, o := range owners {
		out = append(out, network.TakenAddress{Address: o.Address, MAC: o.MAC})
	}
	return out, nil
}

// inWords says who has what.
func inWords(taken []network.TakenAddress) error {
	var out []string
	for _, t := range taken {
		out = append(out, fmt.Sprintf("%s by MAC %s", t.Address, t.MAC))
	}
	return fmt.Errorf("used on the VLAN already: %s", strings.Join(out, ", "))
}
