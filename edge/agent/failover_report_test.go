package agent

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/fakes"
)

// A watched edge is number 2, and serves plan "a".
type watchedEdge struct {
	state failover.State
	view  view
	now   time.Time
	sent  uint64
}

func newWatchedEdge() *watchedEdge {
	w := &watchedEdge{state: failover.NewState(failover.Self{Edge: 2, Instance: "this", Generation: 1000}, false), now: time.Unix(1_800_000_000, 0)}
	w.event(failover.Event{Kind: failover.Ready, Plan: "a"})
	return w
}

func (w *watchedEdge) event(e failover.Event) {
	w.state, _ = failover.Next(w.state, e, w.now)
	w.view = w.view.next(w.state, w.now)
}

// hears handles a message of the peer over each path, and a tick, as often as they fit into d.
func (w *watchedEdge) hears(d time.Duration, m failover.Message, paths ...failover.Path) {
	m.Edge, m.Instance, m.Peer = 1, "peer", "this"
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(failover.Interval) {
		w.sent++
		m.Number = w.sent
		for _, p := range paths {
			w.event(failover.Event{Kind: failover.Heard, Message: m, Path: p})
		}
		w.event(failover.Event{Kind: failover.Tick})
	}
}

func TestReportOfDifferentPlans(t *testing.T) {
	g, w := NewWithT(t), newWatchedEdge()
	other := failover.Message{Phase: failover.Serving, Plan: "b", Level: failover.LevelServes}
	w.hears(30*time.Second, other, failover.VLAN)
	g.Expect(w.view.report.PlansDiffer).To(BeFalse(), "a plan takes some seconds to arrive")
	w.hears(2*time.Second, other, failover.VLAN)
	g.Expect(w.view.report.PlansDiffer).To(BeTrue())
	same := other
	same.Plan = "a"
	w.hears(time.Second, same, failover.VLAN)
	g.Expect(w.view.report.PlansDiffer).To(BeFalse())
	w.hears(31*time.Second, failover.Message{Phase: failover.Starting, Plan: "b", Level: failover.LevelNothing}, failover.VLAN)
	g.Expect(w.view.report.PlansDiffer).To(BeFalse(), "the peer does not serve")
}

func TestReportOfASilentPeer(t *testing.T) {
	g, w := NewWithT(t), newWatchedEdge()
	serves := failover.Message{Phase: failover.Serving, Plan: "a", Level: failover.LevelServes, Sees: true}
	w.hears(5*time.Second, serves, failover.VLAN, failover.ClusterNetwork)
	g.Expect(w.view.report).To(And(HaveField("Level", reported.LevelServes), HaveField("Peer", reported.PeerServing), HaveField("PeerSilent", false)))
	w.hears(5*time.Second, serves, failover.ClusterNetwork)
	g.Expect(w.view.report.PeerSilent).To(BeTrue(), "it is heard over the cluster network only")
	g.Expect(peerServes(w.state)).To(Succeed())
}

// TestPeerSharesClients: a peer that is worth less than this edge answers its share of DHCP
// clients, unless it is worth nothing.
func TestPeerSharesClients(t *testing.T) {
	g := NewWithT(t)
	for level, shares := range map[failover.Level]bool{failover.LevelServes: true, failover.LevelNothing: false} {
		w := newWatchedEdge()
		for range 10 {
			w.event(failover.Event{Kind: failover.Reached, Began: w.now})
			w.hears(failover.Interval, failover.Message{Phase: failover.Serving, Plan: "a", Level: level}, failover.VLAN)
		}
		g.Expect(w.state.PeerState).To(Equal(failover.PeerImpaired))
		g.Expect(peerServes(w.state) == nil).To(Equal(shares), string(level))
	}
}

// TestStalePeerSharesNoClients: a peer that cannot read its leases says so, at once, and this edge
// answers all clients of DHCP. VMs stay where they are.
func TestStalePeerSharesNoClients(t *testing.T) {
	g := NewWithT(t)
	w := newWatchedEdge()
	m := failover.Message{Phase: failover.Serving, Plan: "a", Level: failover.LevelReaches}
	for range 10 {
		w.event(failover.Event{Kind: failover.Reached, Began: w.now})
		w.hears(failover.Interval, m, failover.VLAN)
	}
	g.Expect(peerServes(w.state)).To(Succeed())
	m.Stale = true
	w.hears(failover.Interval, m, failover.VLAN)
	g.Expect(peerServes(w.state)).To(MatchError(errStale))
	g.Expect(w.state.PeerState).To(Equal(failover.PeerServing))
	m.Stale = false
	w.hears(failover.Interval, m, failover.VLAN)
	g.Expect(peerServes(w.state)).To(Succeed())

	s, _ := failover.Next(w.state, failover.Event{Kind: failover.Ready, Plan: "a"}, w.now)
	_, actions := failover.Next(s, failover.Event{Kind: failover.Ready, Plan: "a", Stale: true}, w.now)
	g.Expect(actions.Send).To(HaveLen(1), "the peer is told at once")
	g.Expect(actions.Send[0].Stale).To(BeTrue())
	g.Expect(actions.Send[0].Phase).To(Equal(failover.Serving))
}

// TestYieldingEdge is not ready, and its DHCP server leaves all clients to the younger pod.
func TestYieldingEdge(t *testing.T) {
	g, w := NewWithT(t), newWatchedEdge()
	k := &Failover{}
	k.serving.Set(nil)
	dir, log := fakes.RunDir(t), slog.New(slog.NewTextHandler(t.Output(), nil))
	k.Metrics = NewFailoverMetrics(prometheus.NewRegistry(), func() error { return nil })
	go func() {
		_ = health.Serve(t.Context(), wire.Socket(dir, wire.Failover), k.updateReadiness, nil, health.Question{Path: health.PeerPath, Why: k.PeerServes, Changed: k.PeerChanged})
	}()
	var dhcp Peer
	go dhcp.Watch(t.Context(), dir, log)
	serves := failover.Message{Phase: failover.Serving, Plan: "a", Level: failover.LevelServes, Sees: true, PeerGeneration: 1000}
	w.hears(2*time.Second, serves, failover.VLAN)
	k.changed(w.state)
	g.Eventually(dhcp.Serves, "1m").Should(BeTrue())
	g.Expect(dhcp.Yields()).To(BeFalse())
	g.Expect(k.updateReadiness()).To(Succeed())
	serves.PeerGeneration = 2000
	w.hears(2*time.Second, serves, failover.VLAN)
	k.changed(w.state)
	g.Eventually(dhcp.Yields, "1m").Should(BeTrue())
	g.Expect(errors.Is(k.updateReadiness(), errYields)).To(BeTrue())
	g.Expect(w.view.report).To(And(HaveField("Yields", true), HaveField("Level", reported.LevelNothing)))
}

// TestEdgeThatYieldsToATwin names the twin where it is not ready and in its report, and its DHCP server answers no client.
func TestEdgeThatYieldsToATwin(t *testing.T) {
	g, s := NewWithT(t), failover.State{Outdone: "02:00:00:00:00:b2", Yields: true}
	hop := netip.MustParseAddr("192.168.100.2")
	g.Expect(peerServes(s)).To(And(Satisfy(health.Yields.Of), MatchError(ContainSubstring("(MAC 02:00:00:00:00:b2)"))))
	v := view{nextHop: hop}.next(s, time.Unix(1_800_000_000, 0))
	g.Expect(v.report.AddressesInUse).To(Equal([]reported.UsedAddress{{Address: hop, MAC: "02:00:00:00:00:b2"}}))
	g.Expect(v.next(failover.State{Yields: true}, time.Unix(1_800_000_001, 0)).report.AddressesInUse).To(BeEmpty(), "a younger pod of this edge is no other host")
}

// TestReportOfWhatLasts: a level or a state of the peer is reported once it lasts, so that a
// restart of the hosted API server changes no condition.
func TestReportOfWhatLasts(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_800_000_000, 0)
	at := func(level failover.Level, peer failover.PeerState) failover.State {
		return failover.State{Self: failover.Message{Phase: failover.Serving, Level: level}, PeerState: peer, Peer: failover.Message{Instance: "peer"}}
	}
	v := view{}.next(at(failover.LevelServes, failover.Unknown), now)
	v = v.next(at(failover.LevelReaches, failover.PeerServing), now)
	g.Expect(v.report).To(And(HaveField("Level", reported.LevelReaches), HaveField("Peer", reported.PeerServing)), "the first state is reported at once")
	worse := at(failover.LevelServes, failover.PeerImpaired)
	worse.Deaf = true
	for after, state := range []failover.State{1: worse, 2: worse, 3: at(failover.LevelReaches, failover.PeerServing), 4: worse, 5: worse, 8: worse} {
		if state.PeerState != "" {
			v = v.next(state, now.Add(time.Duration(after)*time.Second))
		}
	}
	g.Expect(v.report).To(And(HaveField("Level", reported.LevelReaches), HaveField("Deaf", false), HaveField("Peer", reported.PeerServing)), "it goes back and forth")
	v = v.next(worse, now.Add(9*time.Second))
	g.Expect(v.report).To(And(HaveField("Level", reported.LevelServes), HaveField("Deaf", true), HaveField("Peer", reported.PeerImpaired)))
}

// TestReportOfServersThatDoNotServe: the reason is reported once it lasts, and no longer than that.
func TestReportOfServersThatDoNotServe(t *testing.T) {
	g, now := NewWithT(t), time.Unix(1_800_000_000, 0)
	cut := []reported.ServerFault{{Server: network.ServiceDNS, Cause: problem.ServerSilent}}
	v := view{}.served(cut, now)
	g.Expect(v.report.NotServing).To(BeEmpty(), "each edge starts")
	v = v.served(cut, now.Add(lasting))
	g.Expect(v.report.NotServing).To(Equal(cut))
	v = v.served(nil, now.Add(2*lasting))
	g.Expect(v.report.NotServing).To(BeEmpty())
	v = v.served(cut, now.Add(3*lasting))
	g.Expect(v.report.NotServing).To(BeEmpty(), "it has just stopped")
}
