package proxy

import (
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/backends"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/ads"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
)

// noEndpoints are backends without an endpoint: none has been seen.
func noEndpoints(t *testing.T) *backends.Backends {
	t.Helper()
	b, err := backends.New(t.Context(), nil, backends.NewLookup(""), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// anEdge is one on a network, and what its proxy may serve there.
func anEdge(t *testing.T) (*netns.Namespace, *Proxy, func() (network.Network, error)) {
	t.Helper()
	v := fakes.NewEdge(t)
	file := filepath.Join(t.TempDir(), "plan.json")
	fakes.Planned(t, file, fakes.Proxied(fakes.Blue(), 6443))
	source, err := inforce.New(file, inforce.Selection{}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	p := &Proxy{Source: source, Interface: serving.Interface{Name: "net1", InPod: true}, Backends: noEndpoints(t), Needs: needsAPIServer, Server: ads.NewServer(log), Log: log, Gate: &gate.Gate{}}
	return v, p, func() (network.Network, error) {
		var a Admission
		v.Do(t, func() { a = p.admit() })
		return a.Network, a.Missing
	}
}

// TestAnEdgeServesWhatItHas: an address that only the next pod will hold makes an
// edge unready, and does not stop it from being there for VMs.
func TestAnEdgeServesWhatItHas(t *testing.T) {
	g := NewWithT(t)
	v, p, admissible := anEdge(t)
	run := fakes.RunDir(t)
	p.Admin = admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(run)).Admin()))
	var n network.Network
	serves := func() error {
		v.Do(t, func() { p.look(t.Context(), p.admit(), false) })
		return p.Serving.Err()
	}
	fakes.Envoy(t, run, `{"name":"`+fakes.BlueService+`:6443"}`, new(sync.Mutex))
	n, err := admissible()
	g.Expect(err).NotTo(HaveOccurred())
	n.Listeners = append(n.Listeners, network.Listener{Address: netip.MustParseAddr("10.240.0.200"), Port: 6443, Default: n.Listeners[0].Default})
	n.PublishedAddresses = append(n.PublishedAddresses, netip.MustParseAddr("10.240.0.200"))
	file := filepath.Join(t.TempDir(), "plan.json")
	slices.SortFunc(n.Listeners, func(a, b network.Listener) int { return a.Address.Compare(b.Address) })
	b := network.Plan{Cluster: p.Source.Current().Cluster, Networks: []network.Network{n}}.JSON()
	g.Expect(os.WriteFile(file, b, 0o600)).To(Succeed())
	p.Source, err = inforce.New(file, inforce.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	n, err = admissible()
	g.Expect(p.follows(Admission{Network: n, Missing: err}, nil)).To(MatchError("waiting for 10.240.0.200 on interface net1"))
	g.Expect(serves()).To(Succeed())
	v.Run(t, "ip", "address", "del", fakes.BlueService+"/32", "dev", "net1")
	g.Expect(serves()).To(MatchError(ContainSubstring("waiting for "+fakes.BlueService)), "nothing is left")
	v.Address(t, "net1", fakes.BlueService+"/32")
	g.Expect(serves()).To(Succeed())
	v.Sysctl(t, "net/ipv4/conf/net1/forwarding", "1")
	g.Expect(serves()).To(MatchError(ContainSubstring("the kernel would forward")))
}

// TestAnEdgeThatForwardsServesNothing: not one listener is told to Envoy.
func TestAnEdgeThatForwardsServesNothing(t *testing.T) {
	g := NewWithT(t)
	v, p, admissible := anEdge(t)
	n, err := admissible()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n.Listeners).To(HaveLen(1))
	v.Sysctl(t, "net/ipv4/conf/net1/forwarding", "1")
	n, err = admissible()
	g.Expect(err).To(MatchError(ContainSubstring("the kernel would forward")))
	g.Expect(n.Listeners).To(BeEmpty())
	g.Expect(p.follows(Admission{Network: n, Missing: err}, nil)).To(MatchError(err))
}

// TestAnEdgeThatIsCutOff serves nothing that it could not carry, and says what
// is in the way.
func TestAnEdgeThatIsCutOff(t *testing.T) {
	g := NewWithT(t)
	v, _, admissible := anEdge(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	n, err := admissible()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n.Listeners).To(HaveLen(1))
	t.Setenv("KUBERNETES_SERVICE_HOST", "192.168.100.77")
	n, err = admissible()
	g.Expect(err).To(MatchError(ContainSubstring("192.168.100.77 (the API server)")))
	g.Expect(n.Listeners).To(BeEmpty())
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	v.Route(t, "10.128.0.1/32", "192.168.100.20")
	n, err = admissible()
	g.Expect(err).To(MatchError(And(HavePrefix("192.168.100.3:6443 is not served"), ContainSubstring("10.128.0.1 (Service kube-apiserver)"))))
	g.Expect(n.Listeners).To(BeEmpty())
}

// TestAServiceThatIsCutOff does not affect others: what HyperShift published
// on the same listener is served, and the edge is ready.
func TestAServiceThatIsCutOff(t *testing.T) {
	g := NewWithT(t)
	v := fakes.NewEdge(t)
	file := filepath.Join(t.TempDir(), "plan.json")
	oauth := network.Backend{Name: "oauth:6443", Service: "oauth", Port: 6443, ClusterIP: netip.MustParseAddr("10.96.0.7")}
	git := network.Backend{Name: "git:80", Service: "git", Port: 80, ClusterIP: netip.MustParseAddr("192.168.100.20")}
	forward := func(b network.Backend) network.Forward {
		return network.Forward{ServerNames: []string{b.Service + ".example.com"}, Backend: b.Name}
	}
	at := netip.MustParseAddr(fakes.BlueService)
	plan := network.Plan{Networks: []network.Network{fakes.Proxied(fakes.Blue())}, Cluster: network.Cluster{Namespace: "clusters", Name: "blue"}, Endpoints: []network.Endpoint{
		{Name: "oauth", Backend: oauth}, {Name: "git", Origin: network.OriginService, Backend: git},
	}}
	plan.Networks[0].Backends = []network.Backend{git, oauth}
	plan.Networks[0].Listeners = []network.Listener{
		{Address: at, Port: 80, Default: git.Name},
		{Address: at, Port: 443, Forwards: []network.Forward{forward(git), forward(oauth)}},
	}
	g.Expect(os.WriteFile(file, plan.JSON(), 0o600)).To(Succeed())
	source, err := inforce.New(file, inforce.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	p := Proxy{Source: source, Interface: serving.Interface{Name: "net1", InPod: true}, Backends: noEndpoints(t)}
	var a Admission
	v.Do(t, func() { a = p.admit() })
	n, cut := a.Network, a.CutOff
	g.Expect(a.Missing).NotTo(HaveOccurred(), "a user's Service does not make the edge unready")
	g.Expect(n.Listeners).To(HaveExactElements(plan.Networks[0].Listeners[1]), "and one that leads to it alone is closed")
	behind := cut.Close(resources.EndpointsOf(n, p.Backends))
	g.Expect(behind).To(And(HaveKeyWithValue("git:80", BeEmpty()), HaveKeyWithValue("oauth:6443", BeNil())))
	g.Expect(behind["git:80"]).NotTo(BeNil(), "else its Service's own address would be dialled")
	g.Expect(cut.String()).To(ContainSubstring("192.168.100.20 (Service git)"))
}

// TestProxyBearsASlowEnvoy, and passes on at once what that answers.
func TestProxyBearsASlowEnvoy(t *testing.T) {
	g := NewWithT(t)
	v, p, _ := anEdge(t)
	run := fakes.RunDir(t)
	p.Admin = admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(run)).Admin()))
	answers := fakes.SlowEnvoy(t, run, `{"name":"`+fakes.BlueService+`:6443"}`)
	serves := func() error {
		v.Do(t, func() { p.look(t.Context(), p.admit(), false) })
		return p.Serving.Err()
	}
	g.Expect(serves()).To(Succeed())
	answers.Lock()
	began := time.Now()
	g.Expect(serves()).To(Succeed())
	g.Eventually(serves, "1m", "10ms").Should(MatchError(ContainSubstring("Envoy does not answer")))
	g.Expect(time.Since(began)).To(BeNumerically(">=", serving.SilenceLimit))
	answers.Unlock()
	g.Eventually(serves, "1m", "10ms").Should(Succeed())
	g.Expect(os.Remove(resources.NewDirs(wire.EnvoyDirs(run)).Admin())).To(Succeed())
	g.Expect(serves()).To(MatchError(ContainSubstring("Envoy does not answer")))
}

// TestWhatCannotBeReadClosesNothing: the kernel does not report its routes or addresses for a moment. What is
// served continues, an address that was not served waits, and the edge says why it is not ready.
func TestWhatCannotBeReadClosesNothing(t *testing.T) {
	g := NewWithT(t)
	unread := serving.Unread{Err: errors.New("netlink: no buffer space available")}
	v := inforce.View{Network: fakes.Proxied(fakes.Blue(), 443, 6443)}
	fine := func(netip.Addr) error { return nil }
	last := Admit(v, CutOff{}, fine)
	g.Expect(last.Network.Listeners).To(HaveLen(2))

	kept := Keep(last, v, unread)
	g.Expect(kept.Same(last)).To(BeTrue())
	g.Expect(kept.Missing).To(MatchError(unread))

	more := v
	more.Network.Listeners = append([]network.Listener{{Address: netip.MustParseAddr("192.168.100.99"), Port: 443, Default: v.Network.Listeners[0].Default}}, v.Network.Listeners...)
	kept = Keep(last, more, unread)
	g.Expect(listenerNames(kept.Network)).To(Equal(listenerNames(v.Network)))
	g.Expect(kept.Missing).To(MatchError(unread))

	nothing := Keep(Admission{}, v, unread)
	g.Expect(nothing.Read).To(BeFalse(), "nothing is decided")
	g.Expect(nothing.Same(Refuse(v, unread))).To(BeFalse(), "what is known later is served")
	g.Expect(kept.Read).To(BeTrue())
}

// TestProxyIsUncheckedUntilEnvoyAnswers: a slow Envoy may serve. The last answer of a
// stuck proxy holds for silenceLimit.
func TestProxyIsUncheckedUntilEnvoyAnswers(t *testing.T) {
	g := NewWithT(t)
	v, p, _ := anEdge(t)
	run := fakes.RunDir(t)
	p.Admin = admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(run)).Admin()))
	answers := fakes.SlowEnvoy(t, run, `{"name":"`+fakes.BlueService+`:6443"}`)
	look := func() { v.Do(t, func() { p.look(t.Context(), p.admit(), false) }) }
	answers.Lock()
	look()
	g.Expect(p.Question().Why()).To(MatchError(serving.ErrStarting))
	answers.Unlock()
	look()
	now := time.Now()
	g.Expect(p.servesAt(now)).To(Succeed())
	g.Expect(p.servesAt(now.Add(serving.SilenceLimit + time.Second))).To(MatchError(errNotLooking))
	g.Expect(os.Remove(resources.NewDirs(wire.EnvoyDirs(run)).Admin())).To(Succeed())
	look()
	g.Expect(p.servesAt(now.Add(time.Hour))).To(MatchError(ContainSubstring("Envoy does not answer")), "a no holds")
}

// needsAPIServer is what every proxy needs.
func needsAPIServer(network.Network) []network.ReservedDestination {
	return serving.APIServer(os.Getenv("KUBERNETES_SERVICE_HOST"))
}
