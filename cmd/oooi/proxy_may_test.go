package main

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

// nobody stands behind any backend, as long as nobody has been seen.
func nobody(t *testing.T) *edge.Backends {
	t.Helper()
	b, err := edge.NewBackends(t.Context(), nil, edge.NewLookup(""), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// anEdge is one on a VLAN, and what its proxy may serve there.
func anEdge(t *testing.T) (vlan, *proxy, func() (network.Network, error)) {
	t.Helper()
	v := newVLAN(t, blueService+"/32")
	file := filepath.Join(t.TempDir(), "plan.json")
	proxied(t, file, 6443)
	source, err := edge.NewSource(file, edge.Selection{}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{source: source, flags: serverFlags{watch: true, device: "net1"}, backends: nobody(t)}
	return v, p, func() (n network.Network, err error) {
		v.edge.Do(t, func() { n, _, err = p.may() })
		return n, err
	}
}

// TestAnEdgeServesWhatItHas: an address that only the next pod will hold makes an
// edge unready, and does not stop it from being there for machines.
func TestAnEdgeServesWhatItHas(t *testing.T) {
	g := NewWithT(t)
	v, p, may := anEdge(t)
	run := shortDir(t)
	p.admin = envoy.NewAdmin(run)
	var n network.Network
	serves := func() (err error) {
		v.edge.Do(t, func() { err = p.serves(t.Context()) })
		return err
	}
	fakeEnvoy(t, run, `{"name":"`+blueService+`:6443"}`)
	n, err := may()
	g.Expect(err).NotTo(HaveOccurred())
	n.Listeners = append(n.Listeners, network.Listener{Address: netip.MustParseAddr("10.240.0.200"), Port: 6443, Default: n.Listeners[0].Default})
	n.PublishedAddresses = append(n.PublishedAddresses, netip.MustParseAddr("10.240.0.200"))
	file := filepath.Join(t.TempDir(), "plan.json")
	slices.SortFunc(n.Listeners, func(a, b network.Listener) int { return a.Address.Compare(b.Address) })
	b := network.Plan{Cluster: p.source.Current().Cluster, Networks: []network.Network{n}}.JSON()
	g.Expect(os.WriteFile(file, b, 0o600)).To(Succeed())
	p.source, err = edge.NewSource(file, edge.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	n, err = may()
	g.Expect(p.why(t.Context(), n, err)).To(MatchError("waiting for 10.240.0.200 on interface net1"))
	g.Expect(serves()).To(Succeed())
	v.edge.Run(t, "ip", "address", "del", blueService+"/32", "dev", "net1")
	g.Expect(serves()).To(MatchError(ContainSubstring("waiting for "+blueService)), "nothing is left")
	v.edge.Address(t, "net1", blueService+"/32")
	g.Expect(serves()).To(Succeed())
	v.edge.Sysctl(t, "net/ipv4/conf/net1/forwarding", "1")
	g.Expect(serves()).To(MatchError(ContainSubstring("the kernel would forward")))
}

// TestAnEdgeThatForwardsServesNothing: not one listener is told to Envoy.
func TestAnEdgeThatForwardsServesNothing(t *testing.T) {
	g := NewWithT(t)
	v, p, may := anEdge(t)
	n, err := may()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n.Listeners).To(HaveLen(1))
	v.edge.Sysctl(t, "net/ipv4/conf/net1/forwarding", "1")
	n, err = may()
	g.Expect(err).To(MatchError(ContainSubstring("the kernel would forward")))
	g.Expect(n.Listeners).To(BeEmpty())
	g.Expect(p.why(t.Context(), n, err)).To(MatchError(err))
}

// TestAnEdgeThatIsCutOff serves nothing that it could not carry, and says what
// is in the way.
func TestAnEdgeThatIsCutOff(t *testing.T) {
	g := NewWithT(t)
	v, _, may := anEdge(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	n, err := may()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n.Listeners).To(HaveLen(1))
	t.Setenv("KUBERNETES_SERVICE_HOST", "192.168.100.77")
	n, err = may()
	g.Expect(err).To(MatchError(ContainSubstring("192.168.100.77 (the API server)")))
	g.Expect(n.Listeners).To(BeEmpty())
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	v.edge.Route(t, "10.128.0.1/32", "192.168.100.20")
	n, err = may()
	g.Expect(err).To(MatchError(And(HavePrefix("192.168.100.3:6443 is not served"), ContainSubstring("10.128.0.1 (Service kube-apiserver)"))))
	g.Expect(n.Listeners).To(BeEmpty())
}

// TestAServiceThatIsCutOff takes nobody with it: what HyperShift published on the
// same listener is served, and the edge is ready.
func TestAServiceThatIsCutOff(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t, blueService+"/32")
	file := filepath.Join(t.TempDir(), "plan.json")
	oauth := network.Backend{Name: "oauth:6443", Service: "oauth", Port: 6443, ClusterIP: netip.MustParseAddr("10.96.0.7")}
	git := network.Backend{Name: "git:80", Service: "git", Port: 80, ClusterIP: netip.MustParseAddr("192.168.100.20")}
	forward := func(b network.Backend) network.Forward {
		return network.Forward{ServerNames: []string{b.Service + ".example.com"}, Backend: b.Name}
	}
	at := netip.MustParseAddr(blueService)
	carries(t, file, oauth, network.Listener{Address: at, Port: 443, Forwards: []network.Forward{forward(oauth)}})
	source, err := edge.NewSource(file, edge.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	plan := network.Plan{Networks: []network.Network{source.Current().Network}, Cluster: source.Current().Cluster, Endpoints: []network.Endpoint{
		{Name: "oauth", Backend: oauth}, {Name: "git", Origin: network.OriginService, Backend: git},
	}}
	plan.Networks[0].Backends = []network.Backend{git, oauth}
	plan.Networks[0].Listeners = []network.Listener{
		{Address: at, Port: 80, Default: git.Name},
		{Address: at, Port: 443, Forwards: []network.Forward{forward(git), forward(oauth)}},
	}
	g.Expect(os.WriteFile(file, plan.JSON(), 0o600)).To(Succeed())
	source, err = edge.NewSource(file, edge.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	p := proxy{source: source, flags: serverFlags{watch: true, device: "net1"}, backends: nobody(t)}
	var n network.Network
	var cut cutOff
	v.edge.Do(t, func() { n, cut, err = p.may() })
	g.Expect(err).NotTo(HaveOccurred(), "a user's Service does not make the edge unready")
	g.Expect(n.Listeners).To(HaveExactElements(plan.Networks[0].Listeners[1]), "and one that leads to it alone is closed")
	behind := cut.but(envoy.EndpointsOf(n, p.backends))
	g.Expect(behind).To(And(HaveKeyWithValue("git:80", BeEmpty()), HaveKeyWithValue("oauth:6443", BeNil())))
	g.Expect(behind["git:80"]).NotTo(BeNil(), "else its Service's own address would be dialled")
	g.Expect(cut.String()).To(ContainSubstring("192.168.100.20 (Service git)"))
}
