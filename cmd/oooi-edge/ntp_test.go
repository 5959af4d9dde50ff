package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

func TestNTPAnswersOnItsDeviceOnly(t *testing.T) {
	g := NewWithT(t)
	netns.Require(t, "ntpdig")
	v := newVLAN(t, blueService+"/32")
	dir, _ := v.serve(t, "ntp")

	out := v.machine.Run(t, "ntpdig", "--json", "--timeout", "60", blueService)
	var answer struct {
		Stratum           int
		Offset, Precision float64
		Leap              string
	}
	g.Expect(json.Unmarshal([]byte(out), &answer)).To(Succeed(), out)
	g.Expect(answer.Stratum).To(BeNumerically("~", 8, 7))
	g.Expect(answer.Offset).To(BeNumerically("~", 0, answer.Precision), "both have one clock")
	g.Expect(answer.Leap).To(Equal("no-leap"))
	for _, at := range []string{blueService, "10.128.0.2", "192.168.100.4"} {
		// By the weak host model the pod's packets reach the edge at every address. No socket is for them, so no answer comes.
		out, err := v.pod.Command(t.Context(), "ntpdig", "--json", "--timeout", "1", at).CombinedOutput()
		g.Expect(err).To(HaveOccurred(), "%s: %s", at, out)
	}
	g.Expect(v.edge.Run(t, "ss", "-Hlnu")).To(MatchRegexp(`^UNCONN\s+\d+\s+\d+\s+192\.168\.100\.3%net1:123\s[^\n]*\n$`))
	g.Expect(v.edge.Run(t, "ss", "-Hlnt")).To(BeEmpty())
	g.Eventually(func() string { return scraped(t, wire.Socket(dir, "ntp")) }).Should(And(
		ContainSubstring(`oooi_ntp_questions_total{outcome="answered"} 1`), ContainSubstring("oooi_ntp_clock_synchronized 1"),
		ContainSubstring("oooi_ntp_clock_max_error_seconds 0.01")))
}

func TestNTPWaitsForItsAddressAndFollowsThePlan(t *testing.T) {
	g := NewWithT(t)
	netns.Require(t, "ntpdig")
	v := newVLAN(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	bluePlan(t, file, netip.MustParseAddr(blueService), "api.blue.example.com")
	start(t, v.edge, "ntp", "--plan", file, "--run-dir", dir)
	probe := func() string {
		out, _ := command(t, v.edge, "probe", "ntp", "--run-dir", dir).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	ask := func(at string) func() error {
		// It asks again.
		return func() error { return v.machine.Command(t.Context(), "ntpdig", "--timeout", "1", at).Run() }
	}
	g.Eventually(probe).Should(Equal("oooi-edge: ntp: not ready: waiting for 192.168.100.3 on interface net1"))
	v.edge.Address(t, "net1", blueService+"/32")
	g.Eventually(ask(blueService)).Should(Succeed())
	g.Eventually(probe).Should(BeEmpty())

	v.edge.Address(t, "net1", "192.168.100.8/32")
	bluePlan(t, file, netip.MustParseAddr("192.168.100.8"), "api.blue.example.com")
	g.Eventually(ask("192.168.100.8")).Should(Succeed())
	v.edge.Run(t, "ip", "address", "del", "192.168.100.8/32", "dev", "net1")
	g.Eventually(probe).Should(ContainSubstring("waiting for 192.168.100.8"))
}

// TestClockThatIsNotSynchronized: no client follows it, the server stays ready, and clients follow
// it as soon as it is.
func TestClockThatIsNotSynchronized(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t, blueService+"/32")
	unsynchronized := filepath.Join(t.TempDir(), "clock")
	g.Expect(os.WriteFile(unsynchronized, nil, 0o600)).To(Succeed())
	t.Setenv(clockFile, unsynchronized)
	dir, p := v.serve(t, "ntp")
	g.Eventually(func() string { // Until chronyd has asked.
		out, err := chronyd(t, v.machine, "5")
		g.Expect(err).To(HaveOccurred())
		g.Expect(out).To(And(ContainSubstring("Timeout reached"), Not(ContainSubstring("System clock wrong"))))
		return scraped(t, wire.Socket(dir, "ntp"))
	}).Should(And(MatchRegexp(`outcome="unsynchronized"} [1-9]`), ContainSubstring("oooi_ntp_clock_synchronized 0"), ContainSubstring(`outcome="answered"} 0`)))
	g.Eventually(p.String).Should(ContainSubstring("clock of the node not synchronized"))

	g.Expect(os.Remove(unsynchronized)).To(Succeed())
	out, err := chronyd(t, v.machine, "60")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(follows())
	g.Eventually(p.String).Should(ContainSubstring("clock of the node synchronized"))
}

// TestTimeClientsThroughAFailover: chronyd, ntpd and systemd-timesyncd follow one edge, and continue
// with the other when that one is unreachable.
func TestTimeClientsThroughAFailover(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, plan, one, two := newEdgePods(t)
	vm := netns.New(t)
	segment.Attach(t, vm, "eth0", "", "192.168.100.20/24")
	for _, e := range []*edgePod{one, two} {
		start(t, e.ns, "ntp", "--plan", plan, "--edge", e.number, "--run-dir", e.dir)
		e.start()
	}
	for _, e := range []*edgePod{one, two} {
		g.Eventually(e.probed).Should(BeEmpty())
	}
	clients := timeClients(t, vm)
	for _, c := range clients {
		g.Eventually(c.answers).Should(BeNumerically(">", 0), c.name)
	}
	// Both edges answer for the service VIP until one fails. The VM has chosen one.
	serves := func() string { return vm.Neighbour(t, "eth0", blueService) }
	first, second := one, two
	if serves() == two.ns.MAC(t, "net1") {
		first, second = two, one
	}
	g.Expect(serves()).To(Equal(first.ns.MAC(t, "net1")))
	segment.Pull(t, first.ns, "net1")
	g.Eventually(serves, patience.Limit, "50ms").Should(Equal(second.ns.MAC(t, "net1")))
	before := make([]int, len(clients))
	for i, c := range clients {
		before[i] = c.answers()
	}
	for i, c := range clients {
		g.Eventually(c.answers).Should(BeNumerically(">", before[i]), c.name)
	}
	out, err := chronyd(t, vm, "60")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(follows())
}

// TestAFloodOfQuestions: while one VM asks as fast as it can, another gets answers. Both share the queue of one socket, so
// some of its questions are lost.
func TestAFloodOfQuestions(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t, blueService+"/32")
	dir, _ := v.serve(t, "ntp")
	v.machine.Address(t, "eth0", "192.168.100.66/24")
	stop := flood(t, v.machine, netip.MustParseAddr("192.168.100.66"))
	defer stop()
	metrics := func() string { return scraped(t, wire.Socket(dir, "ntp")) }
	g.Eventually(metrics).Should(MatchRegexp(`outcome="dropped"} \d{4}`))
	victim, questions, answers := asker{dialNTP(t, v.machine, netip.Addr{})}, 0, 0
	g.Eventually(func() int {
		questions++
		if victim.ask() == nil {
			answers++
		}
		return answers
	}).Should(Equal(20))
	t.Logf("%d of %d questions answered", answers, questions)
	g.Eventually(func() (string, error) { return chronyd(t, v.machine, "5") }).Should(follows())
}

// dialNTP returns a socket of n for questions to the service VIP. The source zero is any address.
func dialNTP(t *testing.T, n *netns.Namespace, source netip.Addr) (c *net.UDPConn) {
	t.Helper()
	var err error
	n.Do(t, func() {
		var local *net.UDPAddr
		if source.IsValid() {
			local = net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
		}
		c, err = net.DialUDP("udp4", local, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(blueService+":123")))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// flood asks the service VIP from an address of n until stop is called.
func flood(t *testing.T, n *netns.Namespace, from netip.Addr) (stop func()) {
	t.Helper()
	c := dialNTP(t, n, from)
	question := timeQuestion()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := c.Write(question); errors.Is(err, net.ErrClosed) {
				return
			}
		}
	}()
	return func() { _ = c.Close(); <-ended }
}
