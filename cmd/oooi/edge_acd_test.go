package main

import (
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
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
	file, dir := filepath.Join(t.TempDir(), "plan.json"), fakes.RunDir(t)
	edged(t, file, 2)
	start(t, asks, "edge", "acd", "--plan", file, "--edge", "0", "--run-dir", dir)
	probe := func() string {
		out, _ := command(t, asks, "edge", "probe", "acd", "--run-dir", dir).CombinedOutput()
		return strings.TrimPrefix(strings.TrimSpace(string(out)), "oooi: acd: not ready: ")
	}
	g.Eventually(probe, "20s").Should(Equal("waiting for an address of 192.168.100.0/24 on interface net1"))
	asks.Address(t, "net1", blueTwo+"/24")
	g.Eventually(probe, "20s").Should(Equal("used on the VLAN already: 192.168.100.2 by MAC 02:00:00:00:00:aa, 192.168.100.4 by MAC 02:00:00:00:00:aa"))
	for _, a := range []string{blueNextHop + "/24", blueOne + "/32"} {
		router.Run(t, "ip", "address", "del", a, "dev", "eth0")
	}
	g.Eventually(probe, "60s").Should(BeEmpty())
}

// TestASearch ends when nobody was found twice, and for as long as a port may take
// to forward.
func TestASearch(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	var s search
	ask := func(took time.Duration, taken []network.TakenAddress, failed error) (why error) {
		asked := now
		now = now.Add(took)
		var again time.Duration
		s, again, why = s.next(taken, failed, asked, now)
		now = now.Add(again)
		return why
	}
	router := []network.TakenAddress{{Address: netip.MustParseAddr(blueNextHop), MAC: "02:00:00:00:00:aa"}}
	unplugged := errors.New("no carrier")
	g.Expect(ask(time.Second, nil, nil)).To(MatchError(errLooking))
	g.Expect(ask(time.Second, nil, nil)).To(MatchError(errLooking), "twice, and too soon")
	g.Expect(ask(time.Second, nil, nil)).To(Succeed())
	g.Expect(ask(time.Second, router, nil)).To(MatchError(ContainSubstring("192.168.100.2 by MAC 02:00:00:00:00:aa")))
	g.Expect(ask(askPatience, nil, nil)).To(MatchError(errLooking), "it begins anew")
	g.Expect(ask(askPatience, nil, nil)).To(Succeed())
	g.Expect(ask(askPatience, nil, nil)).To(Succeed())
	g.Expect(ask(0, nil, unplugged)).To(MatchError(unplugged))
	g.Expect(ask(time.Minute, nil, nil)).To(MatchError(errLooking), "a question that took long is one")
	g.Expect(ask(askPatience, nil, nil)).To(Succeed())
}

// TestAskWaitsForThePort that is plugged in, and forwards later: a router behind it
// is found before anything is called free.
func TestAskWaitsForThePort(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, asks, router := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, asks, "net1", "", blueTwo+"/24")
	segment.Attach(t, router, "eth0", "02:00:00:00:00:aa", blueNextHop+"/24")
	// As behind a port that does not forward yet.
	segment.Pull(t, router, "eth0")
	file, dir := filepath.Join(t.TempDir(), "plan.json"), fakes.RunDir(t)
	edged(t, file, 2)
	asking := start(t, asks, "edge", "acd", "--plan", file, "--edge", "0", "--run-dir", dir)
	g.Eventually(asking.said, "20s", "20ms").Should(ContainSubstring(errLooking.Error()))
	segment.Plug(t, router, "eth0")
	g.Eventually(asking.said, "20s").Should(ContainSubstring("192.168.100.2 by MAC 02:00:00:00:00:aa"))
	g.Expect(asking.said()).NotTo(ContainSubstring("the addresses are free"))
}
