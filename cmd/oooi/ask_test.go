package main

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/edge"
	"github.com/cldmnky/oooi/test/netns"
)

// TestAsk: a router has the next hop and an edge's address; then it frees them.
// What this host has is its own.
func TestAsk(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, asks, router := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, asks, "net1", "")
	segment.Attach(t, router, "eth0", "02:00:00:00:00:aa", blueNextHop+"/24", blueOne+"/32", "192.168.100.77/32")
	// Else the kernel believes for up to 45 s that who answered is there.
	asks.Sysctl(t, "net/ipv4/neigh/net1/base_reachable_time_ms", "1000")
	file, dir := filepath.Join(t.TempDir(), "plan.json"), shortDir(t)
	edged(t, file, 2)
	start(t, asks, "ask", "--plan", file, "--edge", "0", "--run-dir", dir)
	probe := func() string {
		out, _ := command(t, asks, "probe", "ask", "--run-dir", dir).CombinedOutput()
		return strings.TrimPrefix(strings.TrimSpace(string(out)), "oooi: ask: not ready: ")
	}
	g.Eventually(probe, "20s").Should(Equal("waiting for an address of 192.168.100.0/24 on interface net1"))
	asks.Address(t, "net1", blueTwo+"/24")
	g.Eventually(probe, "20s").Should(Equal("used on the VLAN already: 192.168.100.2 by MAC 02:00:00:00:00:aa, 192.168.100.4 by MAC 02:00:00:00:00:aa"))
	for _, a := range []string{blueNextHop + "/24", blueOne + "/32"} {
		router.Run(t, "ip", "address", "del", a, "dev", "eth0")
	}
	g.Eventually(probe, "60s").Should(BeEmpty())
}

func TestToBeOurs(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "plan.json")
	asked := func(edges int, held string) string {
		edged(t, file, edges)
		source, err := edge.NewSource(file, edge.Selection{Edge: 1}, nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
		var out []string
		for _, a := range toBeOurs(source.Current().Network, []netip.Addr{netip.MustParseAddr(held)}) {
			out = append(out, strings.TrimPrefix(a.String(), "192.168.100"))
		}
		return strings.Join(out, " ")
	}
	g.Expect(asked(2, blueTwo)).To(Equal(".2 .3 .4"))
	g.Expect(asked(1, blueTwo)).To(Equal(".2 .3 .4"))
	g.Expect(asked(1, "192.168.100.9")).To(Equal(".2 .3 .4 .5"))
	g.Expect(inWords(nil)).To(Succeed())
	g.Expect(inWords([]network.TakenAddress{{Address: netip.MustParseAddr(blueNextHop), MAC: "x"}})).NotTo(Succeed())
}
