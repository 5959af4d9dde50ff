package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// TestACD: a router has the next-hop VIP and an edge address, then releases them.
// Addresses of the probing pod are no conflict.
func TestACD(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, asks, router := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, asks, "net1", "")
	segment.Attach(t, router, "eth0", "02:00:00:00:00:aa", blueNextHop+"/24", blueOne+"/32", "192.168.100.77/32")
	// Else the kernel believes for up to 45 s that who answered is there.
	asks.Sysctl(t, "net/ipv4/neigh/net1/base_reachable_time_ms", "1000")
	file, dir := filepath.Join(t.TempDir(), "plan.json"), fakes.RunDir(t)
	writePlan(t, file, 2)
	start(t, asks, "acd", "--plan", file, "--edge", "0", "--run-dir", dir)
	probe := func() string {
		out, _ := command(t, asks, "probe", "acd", "--run-dir", dir).CombinedOutput()
		return strings.TrimPrefix(strings.TrimSpace(string(out)), "oooi-edge: acd: not ready: ")
	}
	g.Eventually(probe).Should(Equal("waiting for an address of 192.168.100.0/24 on interface net1"))
	asks.Address(t, "net1", blueTwo+"/24")
	g.Eventually(probe).Should(Equal("addresses in use: 192.168.100.2 by MAC 02:00:00:00:00:aa, 192.168.100.4 by MAC 02:00:00:00:00:aa"))
	for _, a := range []string{blueNextHop + "/24", blueOne + "/32"} {
		router.Run(t, "ip", "address", "del", a, "dev", "eth0")
	}
	g.Eventually(probe).Should(BeEmpty())
}

// TestACDBehindASlowPort: a router is found although its port starts to forward after the
// first probe.
func TestACDBehindASlowPort(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, asks, router := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, asks, "net1", "", blueTwo+"/24")
	segment.Attach(t, router, "eth0", "02:00:00:00:00:aa", blueNextHop+"/24")
	// The kernel asks for 20 s before it gives up, so a busy machine plugs the port in time.
	asks.Sysctl(t, "net/ipv4/neigh/net1/mcast_solicit", "20")
	// As behind a port that does not forward yet.
	segment.Pull(t, router, "eth0")
	file, dir := filepath.Join(t.TempDir(), "plan.json"), fakes.RunDir(t)
	writePlan(t, file, 2)
	asking := start(t, asks, "acd", "--plan", file, "--edge", "0", "--run-dir", dir)
	g.Eventually(func() string { return asks.Run(t, "ip", "neigh", "show", "nud", "incomplete") }, patience.Limit, "20ms").Should(ContainSubstring(blueNextHop), "probed once")
	segment.Plug(t, router, "eth0")
	g.Eventually(asking.String).Should(ContainSubstring("192.168.100.2 by MAC 02:00:00:00:00:aa"))
	g.Expect(asking.String()).NotTo(ContainSubstring("addresses are free"))
}

// TestACDOnAFreeNetwork: the check listens for more than three seconds before it says that addresses are free.
func TestACDOnAFreeNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, checks := netns.NewSegment(t), netns.New(t)
	segment.Attach(t, checks, "net1", "", blueTwo+"/24")
	file, dir := filepath.Join(t.TempDir(), "plan.json"), fakes.RunDir(t)
	writePlan(t, file, 2)
	began := time.Now()
	p := start(t, checks, "acd", "--plan", file, "--edge", "0", "--run-dir", dir)
	g.Eventually(func() string { return checks.Run(t, "ip", "neigh", "show") }, patience.Limit, "20ms").Should(ContainSubstring(blueNextHop))
	g.Eventually(p.String, patience.Limit, "20ms").Should(ContainSubstring("addresses are free"))
	g.Expect(time.Since(began)).To(BeNumerically(">", 3500*time.Millisecond))
}
