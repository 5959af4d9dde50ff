package failover_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/failover/twins"
)

// incumbents returns an edge that has served for half a minute, as its peer has, which it hears over both paths.
func incumbents() *duel {
	d := newDuel()
	d.state.Self.Generation, d.peer.Generation, d.peer.PeerGeneration = 4, 5, 4
	d.next(failover.Event{Kind: failover.Ready, Owner: "m"})
	d.peer.Claim = twins.Claim{Owner: "m", Incumbent: true}
	d.pass(60, failover.VLAN, failover.ClusterNetwork)
	return d
}

// TestForgedYoungerPeer: a VM that has read this edge's instance once (forged ARP for a second) pretends, over the VLAN only, to be a
// younger pod of the peer that follows a younger pod of this edge. The real peer is heard over both paths all the time.
func TestForgedYoungerPeer(t *testing.T) {
	g := NewWithT(t)
	d := incumbents()
	g.Expect(d.state.Self.Level).To(Equal(failover.LevelServes))
	g.Expect(d.state.Self.Incumbent).To(BeTrue())
	forged := failover.Message{Phase: failover.Serving, Edge: 2, Instance: "vm", Peer: "a", Level: failover.LevelServes, Generation: 1 << 62, PeerGeneration: 1 << 62,
		Claim: twins.Claim{Owner: "m", Outdone: twinMAC}}
	for i := range 240 { // two minutes
		if i%2 == 0 { // one packet a second
			forged.Number++
			d.next(failover.Event{Kind: failover.Heard, Message: forged, Path: failover.VLAN})
		}
		d.pass(1, failover.VLAN, failover.ClusterNetwork)
	}
	g.Expect(d.state.Outdone).To(BeEmpty())
	g.Expect(d.state.Self.Level).To(Equal(failover.LevelServes))
}

// TestForgedByPeersInstance: the VM has read the peer's instance, too.
func TestForgedByPeersInstance(t *testing.T) {
	g := NewWithT(t)
	d := incumbents()
	forged := d.peer
	forged.PeerGeneration, forged.Number, forged.Claim = 1<<62, 1<<40, twins.Claim{Owner: "m", Outdone: twinMAC}
	yields := 0
	for range 240 {
		for range 20 {
			forged.Number++
			d.next(failover.Event{Kind: failover.Heard, Message: forged, Path: failover.VLAN})
			if d.state.Yields {
				yields++
			}
		}
		d.pass(1, failover.VLAN, failover.ClusterNetwork)
	}
	g.Expect(yields).To(BeZero())
	g.Expect(d.state.Outdone).To(BeEmpty())
	g.Expect(d.state.Self.Level).To(Equal(failover.LevelServes))
}

// TestForgedByAbsentPeer: the peer is gone, and a VM that has its address for one packet names a younger pod of the remaining edge. Without
// a further message, this edge serves again after two minutes, unless the API server does not answer it: then its own younger pod may
// serve.
func TestForgedByAbsentPeer(t *testing.T) {
	g := NewWithT(t)
	d := incumbents()
	d.next(failover.Event{Kind: failover.Reached, Began: d.now})
	d.pass(60)
	g.Expect(d.state.PeerState).To(Equal(failover.PeerUnreachable))
	d.next(failover.Event{Kind: failover.Heard, Message: failover.Message{Phase: failover.Serving, Edge: 2, Instance: "vm", Number: 1, Peer: "a",
		Level: failover.LevelServes, Generation: 6, PeerGeneration: 1 << 62, Claim: twins.Claim{Owner: "m"}}})
	g.Expect(d.state.Yields).To(BeTrue())
	d.pass(239)
	g.Expect(d.state.Yields).To(BeTrue(), "the peer may have seen a younger pod")
	reached := d.state
	d.next(failover.Event{Kind: failover.Unreached})
	d.pass(10)
	g.Expect(d.state.Yields).To(BeTrue(), "this edge is cut off")
	d.state = reached
	d.pass(2)
	g.Expect(d.state.Yields).To(BeFalse())
	g.Expect(d.state.Self.Level).To(Equal(failover.LevelReaches))
}

// blind is a twin's message of a VM that sends from both edge addresses, and receives nothing of what edges send.
func blind(edge int, number uint64) failover.Message {
	return failover.Message{Phase: failover.Serving, Level: failover.LevelServes, Edge: edge, Instance: "vm", Number: number, MAC: twinMAC,
		Claim: twins.Claim{Owner: "other", Incumbent: true}}
}

// startPod starts a new pod of an edge of "m", whose servers answer.
func (w *world) startPod(i int) {
	w.boot(i)
	e := &w.edges[i]
	w.runs++
	e.agent, e.serves, e.next = true, true, w.now.Add(100*time.Millisecond)
	e.state = failover.NewState(failover.Self{Edge: i + 1, Instance: fmt.Sprintf("%d.%d", i, w.runs), New: true, Generation: w.now.UnixMilli()}, false)
	w.handle(i, failover.Event{Kind: failover.Ready, Owner: "m", Plan: "p"})
}

// TestBlindTwin: edges that are replaced one after the other do not yield to a VM that pretends to be a twin, even if it prevents them from
// answering unknown pods.
func TestBlindTwin(t *testing.T) {
	for _, unknown := range []int{0, 9} {
		g, w := NewWithT(t), newWorld(7, 2)
		number, last := uint64(1<<20), time.Time{}
		attack := func() {
			if w.now.Sub(last) < 10*time.Millisecond {
				return
			}
			last = w.now
			for i := range w.edges {
				if !w.edges[i].agent {
					continue
				}
				number++
				w.handle(i, failover.Event{Kind: failover.Heard, Message: blind(2-i, number)})
				for k := range unknown {
					w.handle(i, failover.Event{Kind: failover.Heard, Message: failover.Message{Phase: failover.Starting, Edge: 2 - i, Instance: fmt.Sprint("vm", k), Number: number}})
				}
			}
		}
		serves := func(what string) {
			w.pass(time.Minute, attack)
			for i := range w.edges {
				g.Expect(w.edges[i].state.Self.Level).To(Equal(failover.LevelServes), "%s: edge %d, %d unknown pods", what, i+1, unknown)
			}
		}
		w.startPod(0)
		w.startPod(1)
		w.pass(20*time.Second, nil)
		serves("both serve")
		for _, i := range []int{1, 0} {
			w.die(i)
			w.pass(5*time.Second, attack)
			w.startPod(i)
			serves("replaced")
		}
	}
}

// TestBlindTwinAtAStart: while no edge serves, a VM that pretends to be a twin of one edge keeps both from serving, with a packet
// every 29 s. They serve 30 s after the last one, and then no such packet matters.
func TestBlindTwinAtAStart(t *testing.T) {
	g, w := NewWithT(t), newWorld(7, 2)
	number, last := uint64(1<<20), time.Time{}
	attack := func() {
		if w.now.Sub(last) >= 29*time.Second {
			number++
			last = w.now
			w.handle(0, failover.Event{Kind: failover.Heard, Message: blind(2, number)})
		}
	}
	levels := func() []failover.Level {
		return []failover.Level{w.edges[0].state.Self.Level, w.edges[1].state.Self.Level}
	}
	w.startPod(0)
	w.startPod(1)
	w.pass(10*time.Minute, attack)
	g.Expect(levels()).To(HaveEach(failover.LevelNothing))
	g.Expect([]string{w.edges[0].state.Outdone, w.edges[1].state.Outdone}).To(HaveEach(twinMAC), "what the VM sent is reported")
	w.pass(time.Minute, nil)
	g.Expect(levels()).To(HaveEach(failover.LevelServes))
	w.pass(10*time.Minute, attack)
	g.Expect(levels()).To(HaveEach(failover.LevelServes))
}
