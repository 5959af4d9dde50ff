package main

import (
	"fmt"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// TestEdgesShareClients: `oooi-edge dhcp` of two edges share clients while their failover
// agents see each other serve. Without an agent an edge answers all clients.
func TestEdgesShareClients(t *testing.T) {
	netns.Require(t, "udhcpc")
	t.Parallel()
	g := NewWithT(t)
	segment, plan, one, two := newEdgePods(t)
	dhcp := map[*edgePod]*programs.Output{}
	for _, e := range []*edgePod{one, two} {
		e.dhcp.End()
		dhcp[e] = start(t, e.ns, "dhcp", "--plan", plan, "--edge", e.number, "--run-dir", e.dir)
	}
	for e := range dhcp {
		g.Eventually(func() error { return health.Serves(t.Context(), wire.Socket(e.dir, "dhcp")) }).Should(Succeed())
	}
	// By its identifier, which udhcpc makes of the MAC, this one is edge 1's.
	machine := netns.New(t)
	segment.Attach(t, machine, "eth0", "02:00:00:00:00:01")
	boots := func() {
		t.Helper()
		g.Expect(machine.Run(t, "udhcpc", "-f", "-n", "-q", "-i", "eth0", "-s", "/bin/true")).To(ContainSubstring("lease of "))
	}
	counts := func(e *edgePod, outcome, kind string, times int) {
		t.Helper()
		want := fmt.Sprintf("oooi_dhcp_messages_total{outcome=%q,type=%q} %d\n", outcome, kind, times)
		g.Eventually(func() string { return scraped(t, wire.Socket(e.dir, "dhcp")) }).Should(ContainSubstring(want), "edge %s", e.number)
	}
	const shares, all = "peer serves, sharing broadcasts", "peer does not serve, answering all broadcasts"
	says := func(e *edgePod, what string, times int) {
		t.Helper()
		g.Eventually(func() int { return dhcp[e].Count(what) }).Should(Equal(times), "edge %s: %s", e.number, what)
	}

	boots()
	for e := range dhcp {
		counts(e, "offered", "DISCOVER", 1)
		counts(e, "granted", "REQUEST", 1)
		e.start()
	}
	for e := range dhcp {
		says(e, shares, 1)
	}
	boots()
	counts(one, "offered", "DISCOVER", 2)
	counts(two, "left-to-peer", "DISCOVER", 1)
	counts(two, "left-to-peer", "REQUEST", 1)
	counts(two, "offered", "DISCOVER", 1)

	one.dns.End()
	says(two, `err="the other edge: idle"`, 1)
	boots()
	counts(two, "offered", "DISCOVER", 2)
	one.dns.Start()
	says(two, shares, 2)
	boots()
	counts(two, "left-to-peer", "DISCOVER", 2)

	g.Expect(two.command.Process.Signal(syscall.SIGKILL)).To(Succeed())
	says(two, all, 2)
	boots()
	counts(two, "offered", "DISCOVER", 3)
	g.Expect(scraped(t, wire.Socket(one.dir, "dhcp"))).NotTo(ContainSubstring("left-to-peer"), "it is its machine")
}
