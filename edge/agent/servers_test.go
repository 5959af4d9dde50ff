package agent

import (
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	_ "github.com/cldmnky/oooi/test/patience"
)

// follow follows the servers in dir, and says why not all of n's serve.
func follow(t *testing.T, dir string, n network.Network) func() error {
	t.Helper()
	s := NewServers(dir)
	go s.Follow(t.Context(), func() network.Network { return n }, nil)
	return func() error { return s.Err(n) }
}

// TestAnEdgeServesWhileAllItsServersDo: each that ends, or says that it does not serve, is named.
func TestAnEdgeServesWhileAllItsServersDo(t *testing.T) {
	g := NewWithT(t)
	dir := fakes.RunDir(t)
	n := network.Network{Services: []network.Service{network.ServiceDHCP, network.ServiceDNS}}
	why := follow(t, dir, n)
	g.Expect(why()).To(MatchError(And(ContainSubstring("dhcp: "), ContainSubstring("dns: "))), "they have not begun")
	dhcp, dns := fakes.NewServer(t, dir, "dhcp"), fakes.NewServer(t, dir, "dns")
	g.Eventually(why, "1m", "10ms").Should(Succeed())
	dns.End()
	g.Eventually(why, "1m", "50ms").Should(MatchError(HavePrefix("dns: ")))
	dns.Start()
	g.Eventually(why, "1m", "10ms").Should(Succeed())
	dhcp.Say(errors.New("no such device"))
	g.Eventually(why, "1m", "50ms").Should(MatchError("dhcp: does not serve: no such device"))
	dhcp.Say(nil)
	g.Eventually(why, "1m", "10ms").Should(Succeed())
}

// TestNTPIsWorthAFailoverAlone: with another server on the network, its end is named and nothing more.
func TestNTPIsWorthAFailoverAlone(t *testing.T) {
	g := NewWithT(t)
	dir := fakes.RunDir(t)
	alone := network.Network{Services: []network.Service{network.ServiceNTP}}
	beside := network.Network{Services: []network.Service{network.ServiceDNS, network.ServiceNTP}}
	s := NewServers(dir)
	g.Expect(s.Err(alone)).To(MatchError("ntp: starting"), "nothing follows it yet")
	go s.Follow(t.Context(), func() network.Network { return beside }, nil)
	fakes.NewServer(t, dir, "dns")
	ntp := fakes.NewServer(t, dir, "ntp")
	for _, n := range []network.Network{alone, beside} {
		g.Eventually(func() error { return s.Err(n) }, "1m", "10ms").Should(Succeed(), "a server that starts hides the faults of all")
	}
	g.Expect(s.Faults(beside)).To(BeEmpty())
	ntp.End()
	g.Eventually(func() error { return s.Err(alone) }, "1m", "50ms").Should(MatchError(HavePrefix("ntp: ")))
	g.Expect(s.Faults(beside)).To(ConsistOf(HaveField("Server", network.ServiceNTP)))
	g.Eventually(func() error { return s.Err(beside) }, "1m", "10ms").Should(Succeed(), "VMs keep the time for hours")
	ntp.Start()
	g.Eventually(func() error { return s.Err(alone) }, "1m", "10ms").Should(Succeed())
}

// TestWhatCountsAtOnce: a no of the proxy does, and the end of Envoy while the proxy is away. DHCP may restart.
func TestWhatCountsAtOnce(t *testing.T) {
	g := NewWithT(t)
	dir := fakes.RunDir(t)
	n := fakes.Proxied(fakes.Blue(), 7443)
	n.Services = []network.Service{network.ServiceDHCP, network.ServiceProxy}
	s := NewServers(dir)
	away := health.Serves(t.Context(), wire.Socket(dir, "proxy"))
	g.Expect(health.Away(away)).To(BeTrue())
	takes := func(x network.Service, err error) error {
		s.take(t.Context(), n, x, answer{err: err, due: time.Now()})
		return s.Err(n)
	}
	fake := fakes.Envoy(t, dir, `{"name":"192.168.100.3:7443"}`, new(sync.Mutex))
	_ = takes(network.ServiceDHCP, nil)
	g.Expect(takes(network.ServiceProxy, nil)).To(Succeed())
	g.Expect(takes(network.ServiceProxy, errors.New("does not serve: Envoy is DRAINING"))).To(MatchError("proxy: does not serve: Envoy is DRAINING"))
	g.Expect(takes(network.ServiceProxy, away)).To(Succeed(), "Envoy serves")
	g.Expect(fake.Close()).To(Succeed())
	g.Expect(takes(network.ServiceProxy, away)).To(MatchError(ContainSubstring("Envoy does not answer")))
	g.Expect(takes(network.ServiceProxy, nil)).To(Succeed())
	g.Expect(takes(network.ServiceDHCP, errors.New("does not serve: no such device"))).To(Succeed())
}

// TestEnvoyServesWithoutProxy: while `oooi-edge proxy` is away Envoy is asked; its own
// end, and what proxy says, count at once.
func TestEnvoyServesWithoutProxy(t *testing.T) {
	g := NewWithT(t)
	dir := fakes.RunDir(t)
	file := dir + "/plan.json"
	fakes.Planned(t, file, fakes.Proxied(fakes.Blue(), 6443, 7443))
	source, err := inforce.New(file, inforce.Selection{}, nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	why := follow(t, dir, source.Current().Network)
	g.Eventually(why, "1m", "10ms").Should(MatchError(ContainSubstring("Envoy does not answer")))
	fake := fakes.Envoy(t, dir, `{"name":"192.168.100.3:7443"}`, new(sync.Mutex))
	g.Eventually(why, "1m", "10ms").Should(Succeed(), "no change closes its connections")
	proxy := fakes.NewServer(t, dir, "proxy")
	proxy.Say(errors.New("Envoy is DRAINING"))
	g.Eventually(why, "1m", "10ms").Should(MatchError("proxy: does not serve: Envoy is DRAINING"))
	proxy.End()
	g.Eventually(why, "1m", "10ms").Should(Succeed())
	g.Expect(fake.Close()).To(Succeed())
	g.Eventually(why, "1m", "10ms").Should(MatchError(ContainSubstring("Envoy does not answer")))
	fakes.Envoy(t, dir, "", new(sync.Mutex))
	g.Eventually(why, "1m", "10ms").Should(MatchError(ContainSubstring("listens on none of 192.168.100.3:6443, 192.168.100.3:7443")), "an Envoy just born")
}

// TestASlowServerServes: no VM is moved because a server or Envoy is busy.
func TestASlowServerServes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		service network.Service
		begin   func(t *testing.T, dir string) *sync.Mutex
	}{
		"DHCP": {network.ServiceDHCP, func(t *testing.T, dir string) *sync.Mutex { return &fakes.NewServer(t, dir, "dhcp").Answers }},
		"proxy and Envoy": {network.ServiceProxy, func(t *testing.T, dir string) *sync.Mutex {
			answers := &fakes.NewServer(t, dir, "proxy").Answers
			fakes.Envoy(t, dir, "", answers)
			return answers
		}},
		"Envoy": {network.ServiceProxy, func(t *testing.T, dir string) *sync.Mutex { return fakes.SlowEnvoy(t, dir, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := fakes.RunDir(t)
			answers := c.begin(t, dir)
			why := follow(t, dir, network.Network{Services: []network.Service{c.service}})
			g.Eventually(why, "1m", "10ms").Should(Succeed())
			answers.Lock()
			g.Eventually(why, "1m", "10ms").Should(MatchError(ContainSubstring("deadline exceeded")))
			answers.Unlock()
			g.Eventually(why, "1m", "10ms").Should(Succeed())
		})
	}
}
