// This file measures how long VMs are without an endpoint while an edge is taken away.

package trial

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// failoverInterval is how often a new connection is tried.
	failoverInterval = 50 * time.Millisecond
	// failoverAnswers is how long each connection may take. A SYN that is lost is sent again after one second.
	failoverAnswers = 500 * time.Millisecond
	// failoverLimit is the longest gap that is ok. An edge needs at most two seconds to notice that its peer
	// lost the network.
	failoverLimit = 5 * time.Second
)

// Failover connects to the first endpoint that nodes need, repeatedly for a time, and judges the longest gap. Once
// connected, it calls start with the host that it uses.
func Failover(ctx context.Context, o Options, last time.Duration, start func(network.TrialStart)) ([]network.TrialResult, error) {
	w, err := newTool(o)
	if err != nil {
		return nil, err
	}
	defer w.close()
	trials := o.Network.Trials(w.from)
	i := slices.IndexFunc(trials, func(t network.Trial) bool { return t.Kind == network.TrialEndpoint && !t.Optional })
	if i < 0 {
		return nil, errors.New("the network has no endpoint that nodes need")
	}
	t := trials[i]
	ctx, cancel := context.WithTimeout(ctx, last)
	defer cancel()
	g := gaps{last: time.Now()}
	tick := time.NewTicker(failoverInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		one, stop := context.WithTimeout(ctx, failoverAnswers)
		_, err := w.handshake(one, t)
		stop()
		if ctx.Err() == nil {
			known := len(g.uses)
			if g = g.next(err, w.macTo(t.At.Addr()), time.Now()); known == 0 && len(g.uses) == 1 {
				start(network.TrialStart{Uses: g.uses[0]})
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return []network.TrialResult{{Name: "failover: " + titleOf(t), Problems: g.judge(time.Now())}}, nil
}

// gaps are the times without a connection.
type gaps struct {
	// Field last is when the last connection was made, or the trial began.
	last         time.Time
	longest      time.Duration
	made, failed int
	// Field uses has the MACs of the hosts that connections went to, without duplicates.
	uses []string
}

// macTo returns the MAC to which the kernel sends packets for an address. Empty: unknown.
func (w tool) macTo(a netip.Addr) string {
	via, leads := w.kernel.NextHop(a)
	switch {
	case !leads:
		return ""
	case via.IsValid():
		return w.kernel.MACOf(via)
	}
	return w.kernel.MACOf(a)
}

// next returns g after one more try, which ended with err at now. Parameter by is the MAC of the host that the
// connection went to. Empty: unknown.
func (g gaps) next(err error, by string, now time.Time) gaps {
	if err != nil {
		g.failed++
		return g
	}
	if by != "" && !slices.Contains(g.uses, by) {
		g.uses = append(slices.Clone(g.uses), by)
	}
	g.longest, g.last, g.made = max(g.longest, now.Sub(g.last)), now, g.made+1
	return g
}

// judge returns the result of the trial, which ends at now.
func (g gaps) judge(now time.Time) problem.Problems {
	longest := max(g.longest, now.Sub(g.last)).Round(10 * time.Millisecond)
	args := problem.Args{"gap": {longest.String()}, "made": {strconv.Itoa(g.made)}, "failed": {strconv.Itoa(g.failed)}, "time": {now.Sub(g.last).Round(time.Second).String()}}
	switch {
	case g.made == 0:
		return found(problem.FailoverNotBegun, nil)
	case now.Sub(g.last) > failoverLimit:
		return found(problem.FailoverMissing, args)
	case len(g.uses) < 2:
		return found(problem.FailoverUnseen, args)
	case longest > failoverLimit:
		return found(problem.FailoverSlow, args)
	}
	return found(problem.FailoverMeasured, args)
}
