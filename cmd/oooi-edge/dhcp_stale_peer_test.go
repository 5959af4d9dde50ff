package main

import (
	"fmt"
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
	segment, plan, one, two := newEdgePods(t)
	one.dhcp.End()
	var stale atomic.Bool
	leases := func() error {
		if stale.Load() {
			return health.Stale("the API server does not answer")
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
	two.dhcp.End()
	said := start(t, two.ns, "dhcp", "--plan", plan, "--edge", two.number, "--run-dir", two.dir)
	one.start()
	two.start()
	says := func(what string, times int) {
		t.Helper()
		g.Eventually(func() int { return said.Count(what) }).Should(Equal(times), what)
	}
	counts := func(outcome string, times int) {
		t.Helper()
		want := fmt.Sprintf("oooi_dhcp_messages_total{outcome=%q,type=\"DISCOVER\"} %d\n", outcome, times)
		g.Eventually(func() string { return scraped(t, wire.Socket(two.dir, "dhcp")) }).Should(ContainSubstring(want))
	}
	mac := macsOfEdge(1, 2)
	boots := func(mac string) {
		t.Helper()
		vm := netns.New(t)
		segment.Attach(t, vm, "eth0", mac)
		g.Expect(vm.Run(t, "udhcpc", "-f", "-n", "-q", "-i", "eth0", "-s", "/bin/true")).To(ContainSubstring("lease of "))
	}
	const shares = "peer serves, sharing broadcasts"

	says(shares, 1)
	stale.Store(true)
	says(`err="the other edge: it cannot read its leases"`, 1)
	boots(mac[0])
	counts("offered", 1)
	g.Expect(scraped(t, wire.Socket(two.dir, "dhcp"))).NotTo(ContainSubstring("left-to-peer"), "the first try was answered")

	stale.Store(false)
	says(shares, 2)
	boots(mac[1])
	counts("left-to-peer", 1)
}
