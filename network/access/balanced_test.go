package access

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// balancing is blue with a load balancer at port 31080 besides, and callers of HTTP CONNECT that must be a ServiceAccount.
func balancing() Policy {
	p := blue()
	p.Network.Access.Accounts, p.Network.Access.Audience = []string{"backup/tool"}, "oooi-access.clusters-blue"
	p.Network.Access.LoadBalancers = &network.BalancedAccess{Here: true, Services: []network.BalancedService{{Name: "a", Guest: "shop/web", Ports: []uint16{31080}}}}
	return p
}

// balanced opens a connection to the load balancer from an address, and returns what it says at once, or the error.
func balanced(t *testing.T, at, from string) (*net.TCPConn, string) {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp4", at)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
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
	g.Eventually(s.tunnelsEnded, "5s").Should(ConsistOf(And(
		HaveField("Target.Name", "loadbalancers"), HaveField("Listen", uint16(31080)), HaveField("End", NotOpenAnyMore))))
}

// TestBalancedShares: one source cannot take all tunnels of load balancers, and takes none of those of pods. Another source gets
// its share, and one that closes has room again.
func TestBalancedShares(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) {
		s.Set(balancing())
		s.limits.balanced, s.limits.tunnels, s.limits.caller = 8, 1, 1
	})
	for _, vm := range vms().Leased() {
		s.vm(netip.AddrPortFrom(vm, 31080).String(), stays)
	}
	at := s.serve(t.Context(), 31080)
	open := func(from string, tries int) (all []*net.TCPConn) {
		for range tries {
			if c, got := balanced(t, at, from); got == "hello" {
				all = append(all, c)
			}
		}
		return all
	}
	greedy := open("127.0.0.2", 8)
	g.Expect(greedy).To(HaveLen(4))
	g.Expect(open("127.0.0.3", 8)).To(HaveLen(2))
	g.Expect(open("127.0.0.4", 8)).To(HaveLen(1))
	g.Expect(s.metric("oooi_access_requests_total")).To(ContainSubstring("share-limit"))
	for _, c := range greedy {
		_ = c.Close()
	}
	g.Eventually(func() string { return s.metric("oooi_access_tunnels") }, "5s").Should(Equal("3"))
	g.Expect(open("127.0.0.4", 1)).To(HaveLen(1))
}

// TestShare: however many sources there are, a further one finds room, until each has one.
func TestShare(t *testing.T) {
	g := NewWithT(t)
	var c carried
	const most = 100
	for i := range 50 {
		source := netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", i))
		got := 0
		for c.share(source, most) == nil {
			got++
		}
		if i < 5 {
			g.Expect(got).To(BeNumerically(">", 0), "source %d", i)
		}
		if i == 0 {
			g.Expect(got).To(Equal(most / 2))
		}
	}
	g.Expect(c.count).To(BeNumerically("<=", most))
}

// TestBalancedIdle: a tunnel of a load balancer ends when both sides are silent for an hour, and others only after a day.
func TestBalancedIdle(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) {
		s.Set(balancing())
		s.limits.balancedIdle, s.limits.idleEvery = 300*time.Millisecond, 50*time.Millisecond
	})
	for _, vm := range vms().Leased() {
		s.vm(netip.AddrPortFrom(vm, 31080).String(), stays)
	}
	c, got := balanced(t, s.serve(t.Context(), 31080), "127.0.0.2")
	g.Expect(got).To(Equal("hello"))
	_, err := c.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	g.Eventually(s.tunnelsEnded, "5s").Should(ConsistOf(HaveField("End", Idle)))
	g.Expect(s.idleLimit(Target{Name: "nodes"})).To(Equal(24 * time.Hour))
	g.Expect(NewServer(Options{}).idleLimit(Target{Name: loadBalancers})).To(Equal(time.Hour))
}
