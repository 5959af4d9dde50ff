package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

const sharing, answeringAll = "peer serves, sharing broadcasts", "peer does not serve, answering all broadcasts"

// A dhcpServer is `oooi-edge dhcp` of one edge. It logs what it believes of its peer when that changes. A failover agent that
// stands still for two seconds counts as silent, so a busy machine changes it, too. What a client gets meanwhile says nothing.
type dhcpServer struct {
	*testing.T
	socket string
	log    *programs.Output
}

// startDHCP starts `oooi-edge dhcp` in place of the fake of an edge.
func (e *edgePod) startDHCP() dhcpServer {
	e.Helper()
	e.dhcp.End()
	s := dhcpServer{e.T, wire.Socket(e.dir, "dhcp"), start(e.T, e.ns, "dhcp", "--plan", e.plan, "--edge", e.number, "--run-dir", e.dir)}
	NewWithT(e).Eventually(func() error { return health.Serves(e.Context(), s.socket) }).Should(Succeed())
	return s
}

var beliefs = regexp.MustCompile(sharing + "|" + answeringAll)

// beliefs returns each belief, the latest last.
func (s dhcpServer) beliefs() []string { return beliefs.FindAllString(s.log.String(), -1) }

// believes waits until the server believes what, and returns how many beliefs it has had.
func (s dhcpServer) believes(what string) (number int) {
	s.Helper()
	NewWithT(s).Eventually(func() string {
		all := s.beliefs()
		number = len(all)
		return strings.Join(all[max(0, number-1):], "")
	}).Should(Equal(what))
	return number
}

// count returns how many messages of a kind the server dealt with so, an empty outcome for all.
func (s dhcpServer) count(kind, outcome string) (n int) {
	s.Helper()
	if outcome == "" {
		outcome = "[^\"]*"
	}
	for _, found := range regexp.MustCompile(fmt.Sprintf(`oooi_dhcp_messages_total\{outcome="%s",type="%s"\} (\d+)`, outcome, kind)).FindAllStringSubmatch(scraped(s.T, s.socket), -1) {
		one, err := strconv.Atoi(found[1])
		NewWithT(s).Expect(err).NotTo(HaveOccurred())
		n += one
	}
	return n
}

// A dealt is how often a server dealt with a kind of message in one way.
type dealt struct {
	kind, outcome string
	times         int
}

// deals expects that the server deals with the messages of one boot as wanted, while it believes something. Boot
// returns whether each message was sent once, as it must. If the belief changed meanwhile, another boot follows, of ten at most.
func (s dhcpServer) deals(belief string, boot func() (once bool), wanted ...dealt) {
	s.Helper()
	g := NewWithT(s)
	for range 10 {
		number := s.believes(belief)
		before := map[dealt]int{}
		for _, w := range wanted {
			before[w] = s.count(w.kind, w.outcome)
		}
		once := boot()
		var now []string
		g.Eventually(func() bool {
			if now = nil; len(s.beliefs()) != number {
				return true
			}
			if !once {
				now = append(now, "a message had to be sent twice")
			}
			for _, w := range wanted {
				if n := s.count(w.kind, w.outcome) - before[w]; n != w.times {
					now = append(now, fmt.Sprintf("%s %s: %d, not %d", w.kind, w.outcome, n, w.times))
				}
			}
			return len(now) == 0
		}).Should(BeTrue(), "%s: %s", belief, &now)
		if len(s.beliefs()) == number {
			return
		}
	}
	s.Fatalf("%s: it changes with each of ten boots", belief)
}

// boots boots a VM with udhcpc, which sends again after some seconds, and waits until the server has read what it sent. Once:
// nothing was sent twice.
func (s dhcpServer) boots(vm *netns.Namespace, seconds int) (once bool) {
	s.Helper()
	g, discovers, requests := NewWithT(s), s.count("DISCOVER", ""), s.count("REQUEST", "")
	out := vm.Run(s.T, "udhcpc", "-f", "-n", "-q", "-t", strconv.Itoa(120/seconds), "-T", strconv.Itoa(seconds), "-i", "eth0", "-s", "/bin/true")
	g.Expect(out).To(ContainSubstring("lease of "))
	sent := []int{strings.Count(out, "broadcasting discover"), strings.Count(out, "broadcasting select for ")}
	g.Eventually(func() []int { return []int{s.count("DISCOVER", "") - discovers, s.count("REQUEST", "") - requests} }).Should(Equal(sent))
	return sent[0] == 1 && sent[1] == 1
}

// bootsNew returns a function that boots a new VM, with the next of macs.
func (s dhcpServer) bootsNew(segment *netns.Segment, macs []string, seconds int) func() (once bool) {
	return func() (once bool) {
		s.Helper()
		vm := netns.New(s.T)
		segment.Attach(s.T, vm, "eth0", macs[0])
		macs = macs[1:]
		return s.boots(vm, seconds)
	}
}

// TestEdgesShareClients: `oooi-edge dhcp` of two edges share clients while their failover
// agents see each other serve. Without an agent an edge answers all clients.
func TestEdgesShareClients(t *testing.T) {
	netns.Require(t, "udhcpc")
	t.Parallel()
	g := NewWithT(t)
	segment, _, one, two := newEdgePods(t)
	first, second := one.startDHCP(), two.startDHCP()
	boots := second.bootsNew(segment, macsOfEdge(1, 100), 60)

	boots()
	for _, s := range []dhcpServer{first, second} {
		g.Eventually(func() int { return s.count("REQUEST", "granted") }).Should(BeNumerically(">=", 1))
		g.Expect(s.count("DISCOVER", "offered")).To(BeNumerically(">=", 1))
	}
	one.start()
	two.start()
	first.believes(sharing)
	shared := []dealt{{"DISCOVER", "left-to-peer", 1}, {"REQUEST", "left-to-peer", 1}, {"DISCOVER", "offered", 0}}
	alone := []dealt{{"DISCOVER", "offered", 1}, {"DISCOVER", "left-to-peer", 0}, {"REQUEST", "left-to-peer", 0}}
	second.deals(sharing, boots, shared...)

	one.dns.End()
	peer := health.At(wire.Socket(two.dir, wire.Failover))
	g.Eventually(func() error { return peer.PeerServes(t.Context()) }).Should(MatchError(ContainSubstring("the other edge: idle")))
	second.deals(answeringAll, boots, alone...)
	one.dns.Start()
	second.deals(sharing, boots, shared...)

	g.Expect(two.command.Process.Signal(syscall.SIGKILL)).To(Succeed())
	second.deals(answeringAll, boots, alone...)
	g.Expect(scraped(t, first.socket)).NotTo(ContainSubstring("left-to-peer"), "they are its VMs")
}
