package derive_test

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/cost"
)

func serving(endpoints ...network.Endpoint) given {
	in := on("192.168.100.0/24", network.NetworkRequest{})
	in.Endpoints = endpoints
	return in
}

func named(name, host string, port uint16, m network.Match) network.Endpoint {
	return network.Endpoint{Name: name, Hosts: []string{host}, Port: port, Match: m, Backend: network.Backend{Name: name + ":1", Service: name, Port: 1}}
}

// TestNamesShareAPort: a known server name goes to its own backend. Other connections go
// to the API server only if it is published on that port.
func TestNamesShareAPort(t *testing.T) {
	g := NewWithT(t)
	oauth := named("oauth", "OAuth.example.com.", 443, network.MatchServerName)
	plan, problems := derived(serving(oauth))
	g.Expect(problems).To(BeEmpty())
	g.Expect(plan.Networks[0].Listeners).To(HaveExactElements(network.Listener{
		Address: netip.MustParseAddr("192.168.100.3"), Port: 443,
		Forwards: []network.Forward{{ServerNames: []string{"oauth.example.com"}, Backend: "oauth:1"}},
	}), "closed to everything else")

	plan, _ = derived(serving(oauth, named("kube-apiserver", "api.example.com", 443, network.MatchAny)))
	g.Expect(plan.Networks[0].Listeners).To(HaveLen(1))
	g.Expect(plan.Networks[0].Listeners[0].Default).To(Equal("kube-apiserver:1"))
	g.Expect(plan.Networks[0].Listeners[0].Forwards).To(HaveLen(1))
}

// TestDuplicateName: the first endpoint by name is served, and the other is a problem.
func TestDuplicateName(t *testing.T) {
	g := NewWithT(t)
	plan, problems := derived(serving(
		named("b", "x.example.com", 443, network.MatchServerName), named("a", "x.example.com", 443, network.MatchServerName)))
	g.Expect(problems).To(HaveLen(1))
	g.Expect(problems[0].Reason).To(Equal(problem.AddressConflict))
	g.Expect(problems[0].Subject.String()).To(Equal("Endpoint b"))
	g.Expect(problems.Blocking()).To(BeFalse())
	g.Expect(plan.Networks[0].Listeners[0].Forwards).To(HaveExactElements(network.Forward{ServerNames: []string{"x.example.com"}, Backend: "a:1"}))
	g.Expect(plan.Networks[0].Backends).To(HaveLen(1), "no backend that nothing leads to")
}

// TestBareAddress: every edge has an address that is published without a name. VMs route it through the next-hop VIP, and no other endpoint
// listens there.
func TestBareAddress(t *testing.T) {
	g := NewWithT(t)
	bare := netip.MustParseAddr("203.0.113.7")
	api := network.Endpoint{Name: "kube-apiserver", Addresses: []netip.Addr{bare}, Port: 6443, Match: network.MatchAny, Backend: network.Backend{Name: "kube-apiserver:6443"}}
	plan, problems := derived(serving(api))
	g.Expect(problems).To(BeEmpty())
	n := plan.Networks[0]
	g.Expect(n.PublishedAddresses).To(HaveExactElements(bare))
	g.Expect(n.DHCP.Routes).To(HaveExactElements(
		network.Route{Destination: netip.MustParsePrefix("192.168.100.3/32"), Via: n.NextHopVIP},
		network.Route{Destination: netip.MustParsePrefix("203.0.113.7/32"), Via: n.NextHopVIP},
		network.Route{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: n.NextHopVIP},
	))
	g.Expect(n.Listeners).To(HaveExactElements(network.Listener{Address: bare, Port: 6443, Default: "kube-apiserver:6443"}))
	g.Expect(n.DNS.Views[0].Records).To(BeEmpty())

	api.Addresses = []netip.Addr{netip.MustParseAddr("192.168.100.77")}
	_, problems = derived(serving(api))
	g.Expect(problems.Blocking()).To(BeTrue(), "an address inside the VLAN's own CIDR")
	g.Expect(problems[0].Reason).To(Equal(problem.AddressConflict))
}

func TestSecondaryNetworkGivesAnAddressOnly(t *testing.T) {
	g := NewWithT(t)
	in := serving(named("kube-apiserver", "api.example.com", 6443, network.MatchAny))
	in.Networks[0].Primary = false
	plan, problems := derived(in)
	g.Expect(problems).To(BeEmpty())
	n := plan.Networks[0]
	g.Expect(n.Listeners).To(BeEmpty())
	g.Expect(n.DNS.Views).To(BeEmpty())
	g.Expect(n.DHCP.Router.IsValid()).To(BeFalse())
	g.Expect(n.DHCP.Routes).To(BeEmpty())
	g.Expect(n.DHCP.DNSServers).To(BeEmpty())
	g.Expect(n.DHCP.Range.First.IsValid()).To(BeTrue())
}

func TestUsersOwnRecords(t *testing.T) {
	g := NewWithT(t)
	in := serving(named("kube-apiserver", "api.example.com", 6443, network.MatchAny))
	mirror := netip.MustParseAddr("192.168.100.200")
	in.Networks[0].Settings.Records = []network.Record{{Name: "registry.example.com", Addresses: []netip.Addr{mirror}}, {Name: "api.example.com", Addresses: []netip.Addr{mirror}}}
	plan, _ := derived(in)
	g.Expect(plan.Networks[0].DNS.Views[0].Records).To(HaveExactElements(
		network.Record{Name: "api.example.com", Addresses: []netip.Addr{mirror}},
		network.Record{Name: "registry.example.com", Addresses: []netip.Addr{mirror}},
	))
}

// TestAddressAsServerName: an endpoint without host names cannot be selected by name.
func TestAddressAsServerName(t *testing.T) {
	g := NewWithT(t)
	e := network.Endpoint{Name: "odd", Addresses: []netip.Addr{netip.MustParseAddr("10.1.2.3")}, Port: 443, Match: network.MatchServerName, Backend: network.Backend{Name: "odd:1"}}
	other := e
	other.Backend.Name = "odder:1"
	plan, problems := derived(serving(e, other))
	g.Expect(problems).NotTo(BeEmpty())
	g.Expect(problems.Blocking()).To(BeFalse())
	g.Expect(plan.Validate()).To(Succeed())
	g.Expect(plan.Networks[0].PublishedAddresses).To(BeEmpty())
}

func TestAFaultOfASecondaryNetworkLeavesOutThatPart(t *testing.T) {
	g := NewWithT(t)
	in := serving(named("kube-apiserver", "api.example.com", 6443, network.MatchAny))
	in.Networks = append(in.Networks, network.NetworkRequest{Attachment: network.Attachment{Namespace: "clusters", Name: "storage"}, CIDR: netip.MustParsePrefix("10.0.0.0/29"), CIDRField: "the cidr"})
	plan, problems := derived(in)
	g.Expect(problems.Has(problem.CIDRTooSmall)).To(BeTrue())
	g.Expect(problems.Blocking()).To(BeFalse())
	g.Expect(plan.Networks).To(HaveLen(1))
}

func TestARecordSaidTwice(t *testing.T) {
	g := NewWithT(t)
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	in := serving()
	in.Networks[0].Settings.Records = []network.Record{{Name: "r.example.com", Addresses: []netip.Addr{b}}, {Name: "r.example.com", Addresses: []netip.Addr{a}}}
	plan, _ := derived(in)
	g.Expect(plan.Networks[0].DNS.Views[0].Records).To(HaveExactElements(network.Record{Name: "r.example.com", Addresses: []netip.Addr{a, b}}))
}

// TestListenerPrecedence: HyperShift's endpoint has precedence, then the other origins in
// their order. No endpoint gets the DNS port.
func TestListenerPrecedence(t *testing.T) {
	by := func(o network.Origin, e network.Endpoint) network.Endpoint {
		e.Origin = o
		return e
	}
	api := named("kube-apiserver", "api.example.com", 6443, network.MatchAny)
	for name, c := range map[string]struct {
		want, other network.Endpoint
		left        string
	}{
		"a Service's port is the API's":   {api, by(network.OriginService, named("a", "a.example.com", 6443, network.MatchAny)), "a"},
		"a Service's name is the Route's": {named("oauth", "x.example.com", 443, network.MatchServerName), by(network.OriginService, named("a", "X.example.com", 443, network.MatchServerName)), "a"},
		"the API's own name":              {named("kube-apiserver", "api.example.com", 443, network.MatchAny), by(network.OriginService, named("a", "api.example.com", 443, network.MatchServerName)), "a"},
		"a registry's name is a Service's": {by(network.OriginService, named("z", "x.example.com", 443, network.MatchServerName)),
			by(network.OriginRegistry, named("a", "x.example.com", 443, network.MatchServerName)), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			one, problems := derived(serving(c.want, c.other))
			if c.other.Origin == network.OriginRegistry {
				g.Expect(problems[1:]).To(ConsistOf(HaveField("Reason", problem.ImagesUnreachable)))
				problems = problems[:1]
			}
			g.Expect(problems).To(HaveLen(1))
			g.Expect(problems[0].Subject.Name).To(Equal(c.left))
			g.Expect(message(problems[0])).To(ContainSubstring(c.want.Backend.Name))
			g.Expect(one.Networks[0].Backends).To(HaveExactElements(c.want.Backend))
			two, _ := derived(serving(c.other, c.want))
			g.Expect(two.JSON()).To(Equal(one.JSON()))
		})
	}
	t.Run("DNS", func(t *testing.T) {
		g := NewWithT(t)
		plan, problems := derived(serving(api, by(network.OriginService, named("a", "a.example.com", 53, network.MatchAny))))
		g.Expect(problems).To(HaveLen(1))
		g.Expect(plan.Networks[0].Listeners).To(HaveLen(1))
	})
}

// TestNeededEndpointWithoutPlace: nodes need the API server, Ignition and konnectivity. If one of them gets no listener, the plan is
// refused. OAuth and further Routes are only left out.
func TestNeededEndpointWithoutPlace(t *testing.T) {
	api := named("kube-apiserver", "api.example.com", 6443, network.MatchAny)
	at := func(e network.Endpoint, port uint16) network.Endpoint {
		e.Hosts, e.Addresses, e.Port = nil, []netip.Addr{netip.MustParseAddr("203.0.113.7")}, port
		return e
	}
	konnectivity := named("konnectivity-server", "k.example.com", 8091, network.MatchAny)
	ignition := named("ignition-server", "i.example.com", 443, network.MatchServerName)
	oauth := named("oauth", "i.example.com", 443, network.MatchServerName)
	for name, c := range map[string]struct {
		endpoints []network.Endpoint
		left      string
		blocks    bool
	}{
		"API and konnectivity at one address and port": {[]network.Endpoint{at(api, 6443), at(konnectivity, 6443)}, "konnectivity-server", true},
		"API on the port of DNS":                       {[]network.Endpoint{at(api, 53)}, "kube-apiserver", true},
		"a name on the port of DNS":                    {[]network.Endpoint{api, named("ignition-server", "i.example.com", 53, network.MatchAny)}, "ignition-server", true},
		"Ignition by name at an address":               {[]network.Endpoint{api, at(ignition, 443)}, "ignition-server", true},
		"OAuth has Ignition's name":                    {[]network.Endpoint{api, ignition, oauth}, "oauth", false},
		"a further Route has Ignition's name":          {[]network.Endpoint{api, ignition, named("aaa", "i.example.com", 443, network.MatchServerName)}, "aaa", false},
		"a further Route has the API's address":        {[]network.Endpoint{at(api, 6443), at(named("aaa", "", 0, network.MatchAny), 6443)}, "aaa", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, problems := derived(serving(c.endpoints...))
			g.Expect(problems).To(HaveLen(1))
			g.Expect(problems[0].Subject).To(Equal(problem.Subject{Kind: "Endpoint", Name: c.left}))
			g.Expect(problems[0].Blocks()).To(Equal(c.blocks))
			if c.blocks {
				g.Expect(problems[0].Keys).To(Equal([]string{"spec.services"}))
			}
		})
	}
}

// TestExactNameAndWildcard: the listener has both an exact name and a wildcard that matches it. Envoy prefers the exact name.
func TestExactNameAndWildcard(t *testing.T) {
	g := NewWithT(t)
	apps := named("apps", "*.apps.example.com", 443, network.MatchServerName)
	apps.Origin = network.OriginApps
	plan, problems := derived(serving(apps, named("oauth", "oauth.apps.example.com", 443, network.MatchServerName)))
	g.Expect(problems).To(BeEmpty())
	g.Expect(plan.Networks[0].Listeners[0].Forwards).To(ConsistOf(
		network.Forward{ServerNames: []string{"*.apps.example.com"}, Backend: "apps:1"},
		network.Forward{ServerNames: []string{"oauth.apps.example.com"}, Backend: "oauth:1"},
	))
}

// TestAPIBelowWildcard: an API server that is published by a Route, at a name below the ingress' wildcard, keeps that name.
func TestAPIBelowWildcard(t *testing.T) {
	g := NewWithT(t)
	apps := named("apps", "*.apps.example.com", 443, network.MatchServerName)
	apps.Origin = network.OriginApps
	plan, problems := derived(serving(apps, named("kube-apiserver", "api.apps.example.com", 443, network.MatchAny)))
	g.Expect(problems).To(BeEmpty())
	g.Expect(plan.Networks[0].Listeners[0].Forwards).To(ConsistOf(
		network.Forward{ServerNames: []string{"*.apps.example.com"}, Backend: "apps:1"},
		network.Forward{ServerNames: []string{"api.apps.example.com"}, Backend: "kube-apiserver:1"},
	))
}

// TestInClusterNames: if the API server shares port 443, pods in the hosted cluster that dial kubernetes.default.svc reach it. No other
// endpoint gets that name.
func TestInClusterNames(t *testing.T) {
	api := named("kube-apiserver", "api.example.com", 443, network.MatchAny)
	for name, origin := range map[string]network.Origin{"kubernetes.default.svc": network.OriginService, "openshift.default": network.OriginHyperShift, "api.example.com": network.OriginHyperShift} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := named("a", name, 443, network.MatchServerName)
			e.Origin = origin
			plan, problems := derived(serving(e, api))
			g.Expect(problems).To(ConsistOf(And(HaveField("Reason", problem.AddressConflict), HaveField("Blocks()", false))))
			g.Expect(plan.Networks[0].Listeners).To(HaveExactElements(network.Listener{Address: netip.MustParseAddr("192.168.100.3"), Port: 443, Default: "kube-apiserver:1"}))
		})
	}
	g := NewWithT(t)
	plan, _ := derived(serving(named("wild", "*.svc.cluster.local", 443, network.MatchServerName), api))
	g.Expect(plan.Networks[0].Listeners[0].Forwards).To(ContainElement(network.Forward{
		ServerNames: []string{"kubernetes.default.svc.cluster.local", "openshift.default.svc.cluster.local"}, Backend: "kube-apiserver:1"}))
}

// TestAPIPortWithoutServerNames: the API server's own port does not read TLS server names, which would delay clients. A registry that
// cannot have that port is also a problem for nodes.
func TestAPIPortWithoutServerNames(t *testing.T) {
	g := NewWithT(t)
	mirror := named("mirror", "mirror.example.com", 6443, network.MatchServerName)
	mirror.Origin = network.OriginRegistry
	plan, problems := derived(serving(mirror, named("kube-apiserver", "api.example.com", 6443, network.MatchAny)))
	g.Expect(plan.Networks[0].Listeners[0].Forwards).To(BeEmpty())
	g.Expect(problems).To(ConsistOf(HaveField("Reason", problem.AddressConflict),
		And(HaveField("Reason", problem.ImagesUnreachable), WithTransform(message, ContainSubstring("Nodes cannot pull images from it")))))
}

// TestBackendNameInUse: a Service with the name machines does not replace the backend of all VMs.
func TestBackendNameInUse(t *testing.T) {
	g := NewWithT(t)
	svc := network.Endpoint{Name: "vms/x", Origin: network.OriginService, Hosts: []string{"x.example.com"}, Port: 443, Match: network.MatchServerName,
		Backend: network.Backend{Name: "vms:443", Service: "vms", Port: 443}}
	apps := network.Endpoint{Name: "apps", Origin: network.OriginApps, Hosts: []string{"*.apps.example.com"}, Port: 443, Match: network.MatchServerName,
		Backend: network.Backend{Kind: network.BackendVMs, Name: "vms:443", Port: 443}}
	plan, problems := derived(serving(svc, apps))
	g.Expect(problems).To(ConsistOf(And(HaveField("Reason", problem.AddressConflict), HaveField("Blocks()", false))))
	g.Expect(plan.Networks[0].Listeners[0].Forwards).To(HaveExactElements(network.Forward{ServerNames: []string{"x.example.com"}, Backend: "vms:443"}), "never the one's names to the other")
}

// TestManyEndpoints: the time to plan grows with the number of endpoints, not with its square.
// All clusters share the operator. Ten times as many take ten times as long; a square would be a hundred.
func TestManyEndpoints(t *testing.T) {
	var all []network.Endpoint
	for i := range 20_000 {
		name := fmt.Sprintf("h%d.example.com", i)
		all = append(all, network.Endpoint{Name: name, Origin: network.OriginRegistry, Hosts: []string{name}, Port: 443, Match: network.MatchServerName,
			Backend: network.Backend{Kind: network.BackendExternal, Name: name, Host: name, Port: 443}})
	}
	plan := func(count int) func() {
		return func() { tenant(2, 10, 99, func(in *given) { in.Endpoints = all[:count] }) }
	}
	ratio := cost.Ratio(plan(2_000), plan(20_000))
	t.Logf("20,000 endpoints take %.1f times as long as 2,000", ratio)
	NewWithT(t).Expect(ratio).To(BeNumerically("<", 40))
}
