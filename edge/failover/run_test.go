package failover_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/test/netns"
)

// TestRunAlone: an edge without a peer sends an announcement once it serves, because a VM has the MAC of a previous edge. It sends none
// before that, or while its servers do not answer. It drains immediately.
func TestRunAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, edge := netns.NewSegment(t), netns.New(t)
	segment.Attach(t, edge, "net1", "", "192.168.100.4/24", nextHop+"/32", service+"/32")
	vm := netns.New(t)
	segment.Attach(t, vm, "eth0", "", "192.168.100.10/24")
	const predecessor = "02:00:00:00:00:99"
	vm.SetNeighbour(t, "eth0", nextHop, predecessor, false)
	hung, release, asked := make(chan struct{}), make(chan struct{}), atomic.Int32{}
	serving := func() error {
		switch asked.Add(1) {
		case 1:
			return errors.New("starts")
		case 2:
			close(hung)
			<-release
		}
		return nil
	}
	phases := make(chan failover.Phase, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go edge.Do(t, func() {
		ended <- runAgent(ctx, failover.Options{
			Device: "net1", Edge: 1, Address: netip.MustParseAddr("192.168.100.4"), NextHopVIP: netip.MustParseAddr(nextHop), Serving: serving,
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Changed: func(s failover.State) { phases <- s.Self.Phase },
		})
	})
	known := func() string { return vm.Neighbour(t, "eth0", nextHop) }
	g.Eventually(hung, "1m").Should(BeClosed())
	g.Consistently(known, "1s", "50ms").Should(Equal(predecessor))
	close(release)
	g.Eventually(known, "1m", "50ms").Should(Equal(edge.MAC(t, "net1")))
	g.Expect(<-phases).To(Equal(failover.Serving))
	cancel()
	g.Eventually(ended, "1m").Should(Receive(Succeed()))
}

// TestRunWaitsForItsAddress: the agent waits until its interface has its address, and then reports the state of its peer.
func TestRunWaitsForItsAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, one, two := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, one, "net1", "", "192.168.100.4/24", nextHop+"/32")
	segment.Attach(t, two, "net1", "")
	ctx, cancel := context.WithCancel(t.Context())
	states, ended := make(chan failover.State, 100), make(chan error, 2)
	run := func(ns *netns.Namespace, number int, own, peer string, changed func(failover.State)) {
		go ns.Do(t, func() {
			ended <- runAgent(ctx, failover.Options{
				Device: "net1", Edge: number, Address: netip.MustParseAddr(own), PeerAddress: netip.MustParseAddr(peer), NextHopVIP: netip.MustParseAddr(nextHop),
				Serving: func() error { return nil }, Plan: func() (name, owner string) { return "1a2b3c4d", "" }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Changed: changed,
			})
		})
	}
	run(one, 1, "192.168.100.4", "192.168.100.5", nil)
	run(two, 2, "192.168.100.5", "192.168.100.4", func(s failover.State) { states <- s })
	// Its own phase may change; the peer is unknown.
	sight := func() failover.PeerState {
		for {
			select {
			case s := <-states:
				if s.PeerState != failover.Unknown {
					return s.PeerState
				}
			default:
				return failover.Unknown
			}
		}
	}
	g.Consistently(sight, "3s").Should(Equal(failover.Unknown))
	two.Address(t, "net1", "192.168.100.5/24")
	two.Address(t, "net1", nextHop+"/32")
	seen := failover.State{}
	g.Eventually(func() bool {
		select {
		case seen = <-states:
		default:
		}
		return seen.PeerState == failover.PeerServing && seen.Peer.Sees
	}, "1m").Should(BeTrue())
	g.Expect(seen.Peer.Edge).To(Equal(1))
	g.Expect(seen.Peer.Plan).To(Equal("1a2b3c4d"))
	cancel()
	for range 2 {
		g.Eventually(ended, "1m").Should(Receive(Succeed()))
	}
}
