package main

import (
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
)

// TestPeerOfAStaleEdge: an edge whose DHCP server serves and cannot read its leases says so in its
// heartbeats. The DHCP server of the other edge then answers the first message of each client, and leaves
// clients to it again once its leases can be read.
func TestPeerOfAStaleEdge(t *testing.T) {
	netns.Require(t, "udhcpc")
	t.Parallel()
	g := NewWithT(t)
	segment, _, one, two := newEdgePods(t)
	one.dhcp.End()
	var stale atomic.Bool
	leases := func() error {
		if stale.Load() {
			return health.Reason{Kind: health.Stale, Text: "the API server does not answer"}
		}
		return nil
	}
	ended := make(chan error, 1)
	go func() {
		well := func() error { return nil }
		ended <- health.Serve(t.Context(), wire.Socket(one.dir, "dhcp"), well, nil,
			health.Question{Path: health.ServesPath, Why: well}, health.Question{Path: health.FreshPath, Why: leases})
	}()
	t.Cleanup(func() { g.Expect(<-ended).To(Succeed()) })
	second := two.startDHCP()
	one.start()
	two.start()
	macs := macsOfEdge(1, 100)
	boots, again := second.bootsNew(segment, macs[:50], 60), second.bootsNew(segment, macs[50:], 2)

	second.believes(sharing)
	stale.Store(true)
	peer := health.At(wire.Socket(two.dir, wire.Failover))
	g.Eventually(func() error { return peer.PeerServes(t.Context()) }).Should(MatchError(ContainSubstring("the other edge: it cannot read its leases")))
	second.deals(answeringAll, boots, dealt{"DISCOVER", "offered", 1}, dealt{"DISCOVER", "left-to-peer", 0})

	// No server answers for edge 1, so a client gets its lease by the second try.
	stale.Store(false)
	second.deals(sharing, func() bool { again(); return true }, dealt{"DISCOVER", "left-to-peer", 1})
}
