package agent

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
)

// TestReadiness: the next edge is changed only after this one serves and the other
// has seen it, and nothing is held up for ever.
func TestReadiness(t *testing.T) {
	broken := errors.New("dns: does not serve: starting")
	sees := failover.Message{Phase: failover.Serving, Instance: "x", Sees: true}
	blind := failover.Message{Phase: failover.Serving, Instance: "x"}
	type step struct {
		after  time.Duration
		serves error
		sight  failover.PeerState
		said   failover.Message
		want   error
		own    failover.Level
	}
	reaches := failover.Message{Phase: failover.Serving, Instance: "x", Sees: true, Level: failover.LevelReaches}
	for name, steps := range map[string][]step{
		"one edge":                {{0, broken, failover.Alone, failover.Message{}, broken, ""}, {1, nil, failover.Alone, failover.Message{}, nil, ""}},
		"seen":                    {{0, nil, failover.Unknown, failover.Message{}, ErrUnseen, ""}, {1, nil, failover.PeerServing, blind, ErrUnseen, ""}, {1, nil, failover.PeerServing, sees, nil, ""}},
		"seen by who is impaired": {{0, nil, failover.PeerImpaired, blind, ErrUnseen, ""}, {1, nil, failover.PeerImpaired, sees, nil, ""}},
		"seen by who starts":      {{0, nil, failover.PeerIdle, blind, ErrUnseen, ""}, {1, nil, failover.PeerIdle, sees, nil, ""}},
		"refused":                 {{0, nil, failover.PeerIdle, failover.Message{}, ErrUnseen, ""}, {20 * time.Second, nil, failover.PeerIdle, failover.Message{}, ErrUnseen, ""}, {30 * time.Second, nil, failover.PeerIdle, failover.Message{}, nil, ""}},
		"a port that takes a while": {
			{0, nil, failover.PeerUnreachable, failover.Message{}, ErrUnseen, ""}, {5 * time.Second, nil, failover.PeerUnreachable, failover.Message{}, ErrUnseen, ""},
			{time.Second, nil, failover.PeerServing, blind, ErrUnseen, ""}, {time.Second, nil, failover.PeerUnreachable, blind, ErrUnseen, ""},
			{9 * time.Second, nil, failover.PeerUnreachable, blind, ErrUnseen, ""}, {2 * time.Second, nil, failover.PeerUnreachable, blind, nil, ""},
		},
		"stays ready":     {{0, nil, failover.PeerServing, sees, nil, ""}, {1, nil, failover.PeerServing, blind, nil, ""}, {1, nil, failover.Unknown, failover.Message{}, nil, ""}, {1, nil, failover.PeerUnreachable, sees, nil, ""}},
		"stops serving":   {{0, nil, failover.PeerServing, sees, nil, ""}, {1, broken, failover.PeerServing, sees, broken, ""}, {1, nil, failover.PeerServing, blind, ErrUnseen, ""}, {1, nil, failover.PeerServing, sees, nil, ""}},
		"serves late":     {{0, broken, failover.PeerServing, sees, broken, ""}, {time.Hour, nil, failover.PeerServing, blind, ErrUnseen, ""}, {44 * time.Second, nil, failover.PeerServing, blind, ErrUnseen, ""}, {time.Second, nil, failover.PeerServing, blind, nil, ""}},
		"nothing is seen": {{0, nil, failover.Unknown, failover.Message{}, ErrUnseen, ""}, {45 * time.Second, nil, failover.Unknown, failover.Message{}, nil, ""}},
		"does not reach the API server yet": {
			{0, nil, failover.PeerServing, reaches, errReachesLess, failover.LevelServes}, {5 * time.Second, nil, failover.PeerServing, reaches, nil, failover.LevelReaches},
			{time.Second, nil, failover.PeerServing, reaches, nil, failover.LevelServes},
		},
		"never reaches the API server": {{0, nil, failover.PeerServing, reaches, errReachesLess, failover.LevelServes}, {45 * time.Second, nil, failover.PeerServing, reaches, nil, failover.LevelServes}},
		"the other is lost meanwhile": {
			{0, nil, failover.PeerServing, reaches, errReachesLess, failover.LevelServes}, {time.Second, nil, failover.PeerUnreachable, reaches, ErrUnseen, failover.LevelServes},
			{10 * time.Second, nil, failover.PeerUnreachable, reaches, nil, failover.LevelServes},
		},
		"neither reaches the API server": {{0, nil, failover.PeerServing, sees, nil, failover.LevelServes}},
		"the other ends meanwhile":       {{0, nil, failover.PeerServing, reaches, errReachesLess, failover.LevelServes}, {time.Second, nil, failover.PeerIdle, failover.Message{Phase: failover.Draining, Instance: "x", Sees: true}, nil, failover.LevelServes}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(1000, 0)
			var s Readiness
			for i, x := range steps {
				now = now.Add(x.after)
				var err error
				s, err = s.Next(x.serves, failover.State{Self: failover.Message{Phase: failover.Serving, Level: x.own}, PeerState: x.sight, Peer: x.said}, now)
				if x.want == nil {
					g.Expect(err).NotTo(HaveOccurred(), "step %d", i)
				} else {
					g.Expect(err).To(MatchError(x.want), "step %d", i)
				}
			}
		})
	}
	g := NewWithT(t)
	_, err := Readiness{}.Next(nil, failover.State{Self: failover.Message{Phase: failover.Starting}, PeerState: failover.PeerServing, Peer: sees}, time.Unix(1000, 0))
	g.Expect(err).To(MatchError(ErrUnseen), "its peer cannot have seen it serve before its first heartbeat")
}

// TestReadinessOfAPartitionedEdge: an edge that hears a peer which serves only over the
// cluster network is not ready, so a roll does not replace that peer. It waits for eight
// minutes at most. An edge that hears its peer nowhere is ready as before, and an edge that
// was ready stays ready.
func TestReadinessOfAPartitionedEdge(t *testing.T) {
	const elder, younger = 1000, 2000
	both, cluster := []failover.Path{failover.VLAN, failover.ClusterNetwork}, []failover.Path{failover.ClusterNetwork}
	type phase struct {
		lasts time.Duration
		paths []failover.Path // that bring messages of the peer
		says  failover.Phase
	}
	for name, c := range map[string]struct {
		own, peer int64 // generations
		phases    []phase
		ready     time.Duration // after which it is, give or take five seconds
	}{
		"it sees its peer":                 {younger, elder, []phase{{time.Minute, both, failover.Serving}}, time.Second},
		"cluster network only":             {younger, elder, []phase{{9 * time.Minute, cluster, failover.Serving}}, 8 * time.Minute},
		"a peer without a generation":      {younger, 0, []phase{{9 * time.Minute, cluster, failover.Serving}}, 8 * time.Minute},
		"a peer that does not serve":       {younger, elder, []phase{{time.Minute, cluster, failover.Starting}}, 14 * time.Second},
		"a peer that is younger":           {elder, younger, []phase{{time.Minute, cluster, failover.Serving}}, 14 * time.Second},
		"it hears its peer nowhere":        {younger, elder, []phase{{time.Minute, nil, failover.Serving}}, 12 * time.Second},
		"the VLAN comes":                   {younger, elder, []phase{{time.Minute, cluster, failover.Serving}, {time.Minute, both, failover.Serving}}, time.Minute},
		"the VLAN goes once it was ready":  {younger, elder, []phase{{10 * time.Second, both, failover.Serving}, {time.Minute, cluster, failover.Serving}}, time.Second},
		"the peer goes while it is waited": {younger, elder, []phase{{time.Minute, cluster, failover.Serving}, {time.Minute, nil, failover.Serving}}, 61 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now, number, readyAfter := time.Unix(1000, 0), uint64(0), time.Duration(0)
			began := now
			state := failover.NewState(failover.Self{Edge: 2, Instance: "own", Generation: c.own, Address: netip.MustParseAddr("10.0.0.2")}, false)
			var r Readiness
			for _, p := range c.phases {
				for end := now.Add(p.lasts); now.Before(end); now = now.Add(failover.Interval) {
					state, _ = failover.Next(state, failover.Event{Kind: failover.Ready}, now)
					number++
					m := failover.Message{Phase: p.says, Edge: 1, Instance: "peer", Number: number, Peer: "own", Generation: c.peer, Address: netip.MustParseAddr("10.0.0.1")}
					for _, path := range p.paths {
						m.Sees = len(p.paths) == 2
						state, _ = failover.Next(state, failover.Event{Kind: failover.Heard, Message: m, Path: path}, now)
					}
					var err error
					r, err = r.Next(nil, state, now)
					switch {
					case err == nil && readyAfter == 0:
						readyAfter = max(now.Sub(began), failover.Interval)
					case err != nil && readyAfter > 0:
						t.Fatalf("not ready any more after %v: %v", now.Sub(began), err)
					}
					state, _ = failover.Next(state, failover.Event{Kind: failover.Tick}, now)
				}
			}
			if off := readyAfter - c.ready; off.Abs() > 5*time.Second {
				t.Errorf("ready after %v, not %v", readyAfter, c.ready)
			}
		})
	}
}
