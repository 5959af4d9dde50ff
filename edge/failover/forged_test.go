// This file has what a forged message or a closed cluster network can't do.

package failover_test

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
)

// A duel is one edge that serves, and the messages of its peer.
type duel struct {
	state  failover.State
	now    time.Time
	number uint64
	peer   failover.Message
	seen   failover.Observation
	// announced counts the announcements.
	announced int
}

func newDuel() *duel {
	address := func(s string) netip.Addr { return netip.MustParseAddr(s) }
	d := &duel{
		state: failover.NewState(failover.Self{Edge: 1, Instance: "a", Address: address("10.128.0.1")}, false),
		now:   time.Unix(1000, 0),
		peer:  failover.Message{Phase: failover.Serving, Edge: 2, Instance: "b", Peer: "a", Sees: true, Level: failover.LevelServes, Address: address("10.128.0.2")},
	}
	d.next(failover.Event{Kind: failover.Ready})
	return d
}

func (d *duel) next(e failover.Event) {
	var do failover.Actions
	if d.state, do = failover.Next(d.state, e, d.now); do.Announce {
		d.announced++
	}
}

// pass lets so many intervals pass, in each of which the peer sends over these paths.
func (d *duel) pass(intervals int, over ...failover.Path) {
	for range intervals {
		d.now = d.now.Add(failover.Interval)
		d.number++
		for _, p := range over {
			d.seen.Frames++
			m := d.peer
			m.Number = d.number
			d.next(failover.Event{Kind: failover.Heard, Message: m, Path: p})
		}
		d.next(failover.Event{Kind: failover.Tick, Observed: d.seen})
	}
}

// TestForgedNumber: a forged message with the highest number replaces the peer's messages only until these count as old, ten seconds.
func TestForgedNumber(t *testing.T) {
	g := NewWithT(t)
	d := newDuel()
	d.pass(10, failover.VLAN, failover.ClusterNetwork)
	forged := d.peer
	forged.Phase, forged.Number = failover.Starting, 1<<64-1
	d.next(failover.Event{Kind: failover.Heard, Message: forged})
	g.Expect(d.state.PeerState).To(Equal(failover.PeerIdle))
	d.pass(30, failover.VLAN, failover.ClusterNetwork)
	g.Expect(d.state.PeerState).To(Equal(failover.PeerServing))
	before := d.announced
	d.pass(7200, failover.VLAN, failover.ClusterNetwork)
	g.Expect(d.announced).To(Equal(before))
}

// TestForgedMAC: a VM that has read both instances forges messages. It can neither name another
// MAC of the peer, nor make the peer's messages over the cluster network old.
func TestForgedMAC(t *testing.T) {
	g := NewWithT(t)
	d := newDuel()
	d.peer.MAC, d.peer.Generation = "02:00:00:00:00:02", 5
	d.pass(1, failover.VLAN)
	g.Expect(d.state.PeerMAC()).To(BeEmpty(), "a VM may have named it")
	d.pass(10, failover.VLAN, failover.ClusterNetwork)
	g.Expect(d.state.PeerMAC()).To(Equal("02:00:00:00:00:02"))
	forged := d.peer
	forged.Phase, forged.Number, forged.Generation, forged.MAC = failover.Starting, 1<<40, 1<<40, "02:00:00:00:66:66"
	for range 100 {
		forged.Number++
		d.next(failover.Event{Kind: failover.Heard, Message: forged})
		d.pass(1, failover.ClusterNetwork)
		g.Expect(d.state.PeerMAC()).To(Equal("02:00:00:00:00:02"))
		g.Expect(d.state.Peer).To(Equal(failover.Message{
			Phase: failover.Serving, Edge: 2, Instance: "b", Peer: "a", Sees: true, Level: failover.LevelServes,
			Address: d.peer.Address, Number: d.number, Generation: 5, MAC: "02:00:00:00:00:02",
		}))
	}
	d.pass(5, failover.VLAN)
	g.Expect(d.state.PeerMAC()).To(BeEmpty(), "the cluster network carries nothing")
}

// TestForgedElder: an edge sends what a previous pod of its peer must know only to addresses that the peer had on the cluster network, and
// not to one that a VM chose.
func TestForgedElder(t *testing.T) {
	g := NewWithT(t)
	d := newDuel()
	former := d.peer.Address
	d.peer.Generation = 5
	d.pass(10, failover.VLAN, failover.ClusterNetwork)
	d.pass(30)
	d.peer.Instance, d.peer.Generation, d.peer.Address = "c", 6, netip.MustParseAddr("10.128.0.3")
	d.pass(10, failover.VLAN, failover.ClusterNetwork)
	answered := func(to string) netip.Addr {
		next, do := failover.Next(d.state, failover.Event{Kind: failover.Heard, Message: failover.Message{Phase: failover.Serving, Edge: 2, Instance: "b",
			Number: 1, Peer: "a", Generation: 5, Address: netip.MustParseAddr(to)}}, d.now)
		d.state = next
		g.Expect(do.Answers).To(HaveLen(1))
		return do.Answers[0].Address
	}
	g.Expect(answered(former.String())).To(Equal(former), "the elder learns that it must yield")
	g.Expect(answered("203.0.113.7")).To(BeZero(), "a VM may have named this address")
}

// TestSecondPathThatCarriesNothing: if the cluster network drops heartbeats, an edge that receives no frames is deaf, as without a second
// path. It takes over no VMs.
func TestSecondPathThatCarriesNothing(t *testing.T) {
	g := NewWithT(t)
	d := newDuel()
	d.peer.Level = failover.LevelReaches
	d.seen.Probed = true
	for range 60 {
		d.seen.Answers++
		d.pass(1, failover.VLAN)
		d.next(failover.Event{Kind: failover.Reached, Began: d.now})
	}
	for range 60 {
		d.pass(1)
		d.next(failover.Event{Kind: failover.Reached, Began: d.now})
	}
	g.Expect(d.announced).To(BeZero())
	g.Expect(d.state.Deaf).To(BeTrue())
	g.Expect(d.state.Self.Level).To(Equal(failover.LevelNothing))
}

// TestAnswerBeforeTheSilence: just after a VM has answered its probe, an edge receives only broadcasts. That answer does not prove that the
// edge still receives unicast, so the edge does not conclude that its peer cannot send.
func TestAnswerBeforeTheSilence(t *testing.T) {
	g := NewWithT(t)
	d := newDuel()
	d.seen.Probed = true
	for range 60 {
		d.seen.Answers++
		d.pass(1, failover.VLAN, failover.ClusterNetwork)
	}
	before := d.announced
	d.seen.Answers++
	for range 20 {
		d.pass(1, failover.ClusterNetwork)
		g.Expect(d.announced).To(Equal(before), "after %d messages", d.number)
	}
	g.Expect(d.state.Deaf).To(BeTrue())
	g.Expect(d.state.Self.Level).To(Equal(failover.LevelNothing))
}
