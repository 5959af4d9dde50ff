package access

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/patience"
)

// balancing is blue with a load balancer at port 31080 besides, and callers of HTTP CONNECT that must be a ServiceAccount.
func balancing() Policy {
	p := blue()
	p.Network.Access.Accounts, p.Network.Access.Audience = []string{"backup/tool"}, "oooi-access.clusters-blue"
	p.Network.Access.LoadBalancers = &network.BalancedAccess{Here: true, Services: []network.BalancedService{{Name: "a", HostedService: "shop/web", Ports: []uint16{31080}}}}
	return p
}

// balanced opens a connection to the load balancer from an address, and returns what it says at once, or the error.
func balanced(t *testing.T, at, from string) (*net.TCPConn, string) {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp4", at)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience.Limit))
	b := make([]byte, 5)
	n, err := io.ReadFull(c, b)
	if err != nil {
		return c.(*net.TCPConn), err.Error()
	}
	return c.(*net.TCPConn), string(b[:n])
}

// stays says hello, and stays.
func stays(c *net.TCPConn) {
	_, _ = io.WriteString(c, "hello")
	_, _ = io.Copy(io.Discard, c)
}

// TestBalanced: anyone who reaches the port of a load balancer gets to a VM with a lease, without a token. When the plan has the port no more,
// its tunnels end.
func TestBalanced(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) { s.Set(balancing()) })
	for _, vm := range vms().Leased() {
		s.vm(netip.AddrPortFrom(vm, 31080).String(), stays)
	}
	at := s.serve(t.Context(), 31080)
	c, got := balanced(t, at, "127.0.0.2")
	g.Expect(got).To(Equal("hello"))
	p := balancing()
	p.Network.Access.Destinations = nil
	p.Network.Access.Port = 0
	s.Set(p)
	g.Consistently(func() string { return s.metric("oooi_access_tunnels") }, "200ms").Should(Equal("1"), "another change ends no tunnel")
	p.Network.Access.LoadBalancers = &network.BalancedAccess{Here: true}
	s.Set(p)
	_, err := c.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	_, got = balanced(t, at, "127.0.0.2")
	g.Expect(got).NotTo(Equal("hello"))
	g.Eventually(s.tunnelsEnded).Should(ConsistOf(And(
		HaveField("Target.Name", "loadbalancers"), HaveField("Listen", uint16(31080)), HaveField("End", NotOpenAnyMore))))
}

// TestBalancedShares: one source cannot take all tunnels of load balancers, and takes none of those of pods. When all are taken, a
// further source gets the place of the longest-silent tunnel of the source that has most.
func TestBalancedShares(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) {
		s.Set(balancing())
		s.limits.balanced, s.limits.tunnels = 8, 1
	})
	for _, vm := range vms().Leased() {
		s.vm(netip.AddrPortFrom(vm, 31080).String(), func(c *net.TCPConn) { _, _ = io.WriteString(c, "hello"); echo(c) })
	}
	s.vm("192.168.100.50:10250", echo)
	p := balancing()
	p.Network.Access.Accounts = nil
	s.Set(p)
	_, status, _ := s.connect("worker-1:10250")
	g.Expect(status).To(Equal(200))
	at := s.serve(t.Context(), 31080)
	open := func(from string, tries int) (all []*net.TCPConn) {
		for range tries {
			if c, got := balanced(t, at, from); got == "hello" {
				all = append(all, c)
			}
		}
		return all
	}
	answers := func(c *net.TCPConn) error {
		_, _ = io.WriteString(c, "x")
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	greedy := open("127.0.0.2", 8)
	g.Expect(greedy).To(HaveLen(4))
	g.Expect(open("127.0.0.3", 8)).To(HaveLen(2))
	g.Expect(open("127.0.0.4", 8)).To(HaveLen(2))
	g.Expect(s.metric("oooi_access_requests_total")).To(ContainSubstring("share-limit"))
	for _, i := range []int{0, 1, 3} {
		g.Expect(answers(greedy[i])).To(Succeed())
	}
	g.Expect(s.metric("oooi_access_tunnels")).To(Equal("9"))
	g.Expect(open("127.0.0.5", 8)).To(HaveLen(1), "no place is left")
	g.Expect(answers(greedy[2])).NotTo(Succeed(), "it was silent for longest")
	for _, i := range []int{0, 1, 3} {
		g.Expect(answers(greedy[i])).To(Succeed())
	}
	g.Eventually(s.tunnelsEnded).Should(ConsistOf(And(HaveField("End", OverShare), HaveField("Caller.Addr()", netip.MustParseAddr("127.0.0.2")))))
	g.Expect(open("127.0.0.2", 1)).To(BeEmpty(), "it has its part")
	for _, c := range greedy {
		_ = c.Close()
	}
	g.Eventually(func() string { return s.metric("oooi_access_tunnels") }).Should(Equal("6"))
	g.Expect(open("127.0.0.4", 1)).To(HaveLen(1))
}

// TestDialedGiveRoom: connections whose VMs do not answer give room as tunnels do.
func TestDialedGiveRoom(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) {
		p := balancing()
		p.Network.Access.LoadBalancers.Services[0].Ports = []uint16{31080, 31081}
		s.Set(p)
		s.limits.balanced = 8
	})
	for _, vm := range vms().Leased() {
		s.vm(netip.AddrPortFrom(vm, 31080).String(), stays)
	}
	at, silent := s.serve(t.Context(), 31080), s.serve(t.Context(), 31081)
	for i, from := range []string{"127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.4", "127.0.0.4"} {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp4", silent)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		g.Eventually(func() string { return s.metric("oooi_access_tunnels") }).Should(Equal(strconv.Itoa(i + 1)))
	}
	_, got := balanced(t, at, "127.0.0.5")
	g.Expect(got).To(Equal("hello"))
	g.Eventually(s.callersRefused).Should(ConsistOf(And(HaveField("Refusal.Why", ShareLimit), HaveField("LoadBalancer", true), HaveField("Caller.Addr()", netip.MustParseAddr("127.0.0.2")))))
	g.Expect(s.metric("oooi_access_tunnels")).To(Equal("8"))
	_, got = balanced(t, at, "127.0.0.5")
	g.Expect(got).NotTo(Equal("hello"), "it has its part")
}

// TestPodsShare: 16 pods that each take all the tunnels that they get leave room for others.
func TestPodsShare(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, nil)
	opens := func(pod byte) (n int) {
		for {
			_, giveUp := context.WithCancel(t.Context())
			caller := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 128, 0, pod}), 1)
			if s.reserve(&tunnel{Tunnel: Tunnel{Caller: caller, Target: Target{Name: "nodes"}}, giveUp: giveUp}) != nil {
				giveUp()
				return n
			}
			n++
		}
	}
	for pod := range byte(16) {
		opens(pod)
	}
	g.Expect(opens(16)).To(BeNumerically(">=", maxTunnels/18))
	g.Expect(opens(0)).To(BeZero(), "those that have more than others get none back")
	g.Expect(s.admitted.count).To(Equal(maxTunnels))
}

// TestShare: however many sources there are and whatever they have, a further one gets room until each has its part. What it gets is
// taken from those that have most, and no source loses more than it has above its part.
func TestShare(t *testing.T) {
	g := NewWithT(t)
	var all shares
	now := time.Now()
	opened := map[netip.Addr][]*tunnel{}
	open := func(source netip.Addr, most int) bool {
		now = now.Add(time.Second)
		x := &tunnel{Tunnel: Tunnel{Caller: netip.AddrPortFrom(source, 1)}, began: now}
		evicted, refused := all.add(x, most)
		g.Expect(evicted == nil || refused == nil).To(BeTrue())
		if evicted != nil {
			from := evicted.Caller.Addr()
			g.Expect(from).NotTo(Equal(source))
			g.Expect(evicted).To(BeIdenticalTo(opened[from][0]), "the longest-silent one")
			for _, others := range opened {
				g.Expect(len(others)).To(BeNumerically("<=", len(opened[from])))
			}
			opened[from] = opened[from][1:]
		}
		if refused == nil {
			opened[source] = append(opened[source], x)
		}
		g.Expect(all.count).To(BeNumerically("<=", most))
		return refused == nil
	}
	for i := range 60 {
		source, got := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 0
		for open(source, 100) {
			got++
		}
		g.Expect(got).To(BeNumerically(">=", 100/(i+2)), "source %d", i)
		if i == 0 {
			g.Expect(got).To(Equal(50))
		}
	}
	g.Expect(all.count).To(Equal(100))
	for _, x := range opened {
		for _, t := range x {
			all.remove(t)
			all.remove(t)
		}
	}
	g.Expect(all).To(Equal(shares{of: map[netip.Addr]map[*tunnel]struct{}{}}))
}

// TestEvictedAtItsEnd: a tunnel that has ended, and is still counted, gives room as others do.
func TestEvictedAtItsEnd(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) { s.limits.balanced = 8 })
	for _, from := range []string{"127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.4", "127.0.0.4", "127.0.0.5"} {
		ended := &tunnel{Tunnel: Tunnel{Caller: netip.AddrPortFrom(netip.MustParseAddr(from), 1), Target: Target{Name: loadBalancers}}}
		g.Expect(s.reserve(ended)).To(BeNil())
	}
	g.Expect(s.balanced.count).To(Equal(8))
}

// TestBalancedIdle: a tunnel of a load balancer ends when both sides are silent for an hour, and others only after a day.
func TestBalancedIdle(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) {
		s.Set(balancing())
		s.limits.balancedIdle, s.limits.every = 300*time.Millisecond, time.Hour
	})
	for _, vm := range vms().Leased() {
		s.vm(netip.AddrPortFrom(vm, 31080).String(), stays)
	}
	c, got := balanced(t, s.serve(t.Context(), 31080), "127.0.0.2")
	g.Expect(got).To(Equal("hello"))
	g.Eventually(func() []Tunnel { s.check(); return s.tunnelsEnded() }).Should(ConsistOf(HaveField("End", Idle)))
	_, err := c.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	g.Expect(s.idleLimit(Target{Name: "nodes"})).To(Equal(24 * time.Hour))
	g.Expect(NewServer(Options{}).idleLimit(Target{Name: loadBalancers})).To(Equal(time.Hour))
}
