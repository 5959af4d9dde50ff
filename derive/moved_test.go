package derive_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// at is endpoint name at an address.
func at(name, address string, port uint16) network.Endpoint {
	e := named(name, "", port, network.MatchAny)
	e.Hosts, e.Addresses = nil, []netip.Addr{netip.MustParseAddr(address)}
	return e
}

// withVMs is in with VMs on its network.
func withVMs(in given) given {
	in.InUse = []string{in.Networks[0].Attachment.NetworkName()}
	return in
}

// leads returns where a connection to host and port ends, as a VM sees it: the backend of the listener at its address. Empty: nowhere.
func leads(p network.Plan, host string, port uint16) string {
	n := p.Networks[0]
	address, err := netip.ParseAddr(host)
	for _, r := range n.DNS.Views[0].Records {
		if err != nil && r.Name == host {
			address = r.Addresses[0]
		}
	}
	i := slices.IndexFunc(n.Listeners, func(l network.Listener) bool { return l.Address == address && l.Port == port })
	if i < 0 {
		return ""
	}
	for _, f := range n.Listeners[i].Forwards {
		if slices.Contains(f.ServerNames, host) {
			return f.Backend
		}
	}
	return n.Listeners[i].Default
}

// TestMovedEndpoint: while VMs are on the network, the addresses and names that they have stored for an endpoint lead to it, wherever
// HyperShift publishes it now.
func TestMovedEndpoint(t *testing.T) {
	type place struct {
		host string
		port uint16
	}
	for name, tt := range map[string]struct {
		was, now network.Endpoint
		stored   place
	}{
		"a load balancer gets another address": {at("kube-apiserver", "10.240.0.201", 6443), at("kube-apiserver", "10.240.0.222", 6443), place{"10.240.0.201", 6443}},
		"a node port changes":                  {at("kube-apiserver", "10.240.0.201", 30443), at("kube-apiserver", "10.240.0.201", 30999), place{"10.240.0.201", 30443}},
		"a name changes":                       {named("kube-apiserver", "a.example.com", 6443, network.MatchAny), named("kube-apiserver", "b.example.com", 6443, network.MatchAny), place{"a.example.com", 6443}},
		"an address becomes a name":            {at("konnectivity-server", "10.240.0.201", 8091), named("konnectivity-server", "k.example.com", 443, network.MatchServerName), place{"10.240.0.201", 8091}},
		"the host of a Route changes":          {named("oauth", "a.example.com", 443, network.MatchServerName), named("oauth", "b.example.com", 443, network.MatchServerName), place{"a.example.com", 443}},
		"Ignition changes its name":            {named("ignition-server", "a.example.com", 443, network.MatchServerName), named("ignition-server", "b.example.com", 443, network.MatchServerName), place{"a.example.com", 443}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tt.now.Backend = network.Backend{Name: "restored:2", Service: "restored", Port: 2}
			last, _ := derived(withVMs(serving(tt.was)))
			plan, problems := after(withVMs(serving(tt.now)), last)
			g.Expect(leads(plan, tt.stored.host, tt.stored.port)).To(Equal("restored:2"), "to where the endpoint is now")
			g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.EndpointMoved), HaveField("Severity", problem.SeverityInfo))))
			g.Expect(message(problems[0])).To(ContainSubstring(tt.stored.host))

			again, same := after(withVMs(serving(tt.now)), plan)
			g.Expect(again).To(Equal(plan), "for as long as there are VMs")
			g.Expect(same).To(Equal(problems))
			empty, none := after(serving(tt.now), plan)
			g.Expect(leads(empty, tt.stored.host, tt.stored.port)).To(BeEmpty(), "no VM knows it")
			g.Expect(none).To(BeEmpty())
			back, _ := after(withVMs(serving(tt.was)), plan)
			g.Expect(leads(back, tt.stored.host, tt.stored.port)).To(Equal(tt.was.Backend.Name))
		})
	}
}

// TestMovedAway: an endpoint that HyperShift no longer publishes also loses its former places.
func TestMovedAway(t *testing.T) {
	g := NewWithT(t)
	oauth := func(host string) network.Endpoint { return named("oauth", host, 443, network.MatchServerName) }
	last, _ := derived(withVMs(serving(oauth("a.example.com"))))
	moved, _ := after(withVMs(serving(oauth("b.example.com"))), last)
	gone, problems := after(withVMs(serving()), moved)
	g.Expect(gone.Endpoints).To(BeEmpty())
	g.Expect(problems).To(BeEmpty())
}

// TestFormerPlaceIsTaken: published endpoints and required destinations have precedence over the former place of an endpoint. The problem
// names the VMs that lose the former place.
func TestFormerPlaceIsTaken(t *testing.T) {
	for name, tt := range map[string]func(in given) given{
		"by another endpoint": func(in given) given {
			in.Endpoints = append(in.Endpoints, at("konnectivity-server", "10.240.0.201", 6443))
			return in
		},
		"by the management cluster": func(in given) given {
			in.Reserved = []network.ReservedDestination{{What: "the resolver", Prefix: netip.MustParsePrefix("10.240.0.201/32"), Required: true}}
			return in
		},
		"by the hosted cluster": func(in given) given {
			in.InHostedCluster = []network.ReservedDestination{{What: "pods", Prefix: netip.MustParsePrefix("10.240.0.0/24"), Required: true}}
			in.Endpoints[0].Addresses[0] = netip.MustParseAddr("10.241.0.222")
			return in
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			last, _ := derived(withVMs(serving(at("kube-apiserver", "10.240.0.201", 6443))))
			in := tt(withVMs(serving(at("kube-apiserver", "10.240.0.222", 6443))))
			plan, problems := after(in, last)
			g.Expect(problems.Blocking()).To(BeFalse(), "the present is served")
			g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.FormerPlaceTaken), HaveField("Severity", problem.SeverityWarning))))
			g.Expect(leads(plan, "10.240.0.201", 6443)).NotTo(Equal("kube-apiserver:1"))
			g.Expect(leads(plan, in.Endpoints[0].Addresses[0].String(), 6443)).To(Equal("kube-apiserver:1"))
		})
	}
}

// TestManyMoves: the number of former places of a cluster is limited. The last one stays.
func TestManyMoves(t *testing.T) {
	g := NewWithT(t)
	var plan network.Plan
	var problems problem.Problems
	for i := range 40 {
		plan, problems = after(withVMs(serving(at("kube-apiserver", fmt.Sprintf("10.240.0.%d", i), 6443))), plan)
	}
	g.Expect(len(plan.Networks[0].PublishedAddresses)).To(Equal(17))
	g.Expect(leads(plan, "10.240.0.38", 6443)).To(Equal("kube-apiserver:1"), "the youngest VMs stored it")
	g.Expect(leads(plan, "10.240.0.39", 6443)).To(Equal("kube-apiserver:1"), "where it is now")
	lost := func() (places []string) {
		for _, p := range problems {
			if p.Cause == problem.TooManyFormerPlaces {
				places = append(places, p.Args["at"]...)
			}
		}
		return places
	}
	dropped := lost()
	g.Expect(dropped).NotTo(BeEmpty())
	stays := withVMs(serving(at("kube-apiserver", "10.240.0.39", 6443)))
	for range 3 {
		before := plan
		plan, problems = after(stays, before)
		g.Expect(lost()).To(Equal(dropped), "VMs have lost it for as long as they run")
		g.Expect(plan).To(Equal(before))
	}
	host, _, _ := strings.Cut(dropped[0], ":")
	back, _ := after(withVMs(serving(at("kube-apiserver", host, 6443))), plan)
	g.Expect(leads(back, host, 6443)).To(Equal("kube-apiserver:1"), "published there again")
	plan, problems = after(serving(at("kube-apiserver", "10.240.0.39", 6443)), plan)
	g.Expect(problems).To(BeEmpty(), "without VMs")
	g.Expect(plan.LostPlaces).To(BeEmpty())
}

// TestFormerPlaceInTheOthersNetwork: a former place in the CIDR of another hosted cluster on the VLAN refuses that one for as long as VMs may have
// stored the place, whichever is older, and names it. The cluster that runs loses nothing.
func TestFormerPlaceInTheOthersNetwork(t *testing.T) {
	for name, older := range map[string]bool{"older": true, "younger": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ours := func(address string, vms bool) given {
				in := serving(at("kube-apiserver", address, 6443))
				in.Networks[0].Attachment, in.Networks[0].Primary = vlan, true
				if vms {
					in = withVMs(in)
				}
				return in
			}
			theirs := on("10.240.0.0/24", network.NetworkRequest{})
			theirs.Networks[0].Attachment, theirs.Networks[0].Primary = vlan, true
			wants, _ := derived(theirs)
			newcomer := derive.OtherCluster{Name: "clusters/green", Older: older, On: []network.Attachment{vlan}, Wants: wants}

			booted, problems := derived(ours("10.240.0.201", true))
			g.Expect(problems).To(BeEmpty())
			moved, problems := after(ours("10.241.0.222", true), booted, newcomer)
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			g.Expect(leads(moved, "10.240.0.201", 6443)).To(Equal("kube-apiserver:1"))
			_, refused := after(theirs, network.Plan{}, derive.OtherCluster{Name: "clusters/blue", Older: !older, On: newcomer.On, Wants: moved, Serves: answeringOwn(moved)})
			g.Expect(refused).To(ContainElement(And(HaveField("Cause", problem.SharedAddresses), HaveField("Blocks()", true),
				WithTransform(message, And(ContainSubstring("10.240.0.201"), ContainSubstring("clusters/blue"))))))

			empty, problems := after(ours("10.241.0.222", false), moved, newcomer)
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			_, free := after(theirs, network.Plan{}, derive.OtherCluster{Name: "clusters/blue", Older: !older, On: newcomer.On, Wants: empty, Serves: answeringOwn(empty)})
			g.Expect(free.Blocking()).To(BeFalse(), "no VM knows the former place: %v", free)
		})
	}
}

// TestMovedEndpointsLaw: after any moves, each place of HyperShift's endpoints that was served leads to the same endpoint or has a problem.
// The plan in force does not change.
func TestMovedEndpointsLaw(t *testing.T) {
	names := []string{"kube-apiserver", "ignition-server", "konnectivity-server", "oauth"}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		random := func() []network.Endpoint {
			var out []network.Endpoint
			for i, name := range names {
				port := uint16(7000 + 10*i + r.IntN(3))
				if r.IntN(2) > 0 {
					out = append(out, at(name, fmt.Sprintf("10.240.%d.%d", i, r.IntN(3)), port))
				} else {
					out = append(out, named(name, fmt.Sprintf("%d.%s.example.com", r.IntN(3), name), port, network.MatchAny))
				}
			}
			return out
		}
		var registries []network.Endpoint
		for i := range r.IntN(20) {
			host := fmt.Sprintf("%d.registry.example.com", i)
			registries = append(registries, network.Endpoint{Name: host + ":443", Origin: network.OriginRegistry, Hosts: []string{host}, Port: 443, Match: network.MatchServerName,
				Backend: network.Backend{Kind: network.BackendExternal, Name: host + ":443", Host: host, Port: 443}})
		}
		var plan network.Plan
		for range 4 {
			before := plan
			in := withVMs(serving(append(random(), registries...)...))
			var problems problem.Problems
			plan, problems = after(in, before)
			if again, _ := after(in, plan); string(again.JSON()) != string(plan.JSON()) {
				t.Fatalf("seed %d: the plan changes by itself", seed)
			}
			for _, e := range before.Endpoints {
				host := append(slices.Clone(e.Hosts), "")[0]
				if len(e.Addresses) > 0 {
					host = e.Addresses[0].String()
				}
				if got := leads(plan, host, e.Port); got != e.Backend.Name {
					t.Fatalf("seed %d: %s:%d led to %s, and now to %q: %v", seed, host, e.Port, e.Backend.Name, got, problems)
				}
			}
		}
	}
}

// TestPublishedAddressesAreNotAssigned: DHCP assigns no address at which HyperShift publishes an endpoint, or a load balancer of the hosted cluster has:
// on no network, because a VM that has it reaches itself.
func TestPublishedAddressesAreNotAssigned(t *testing.T) {
	g := NewWithT(t)
	in := serving(at("kube-apiserver", "192.168.30.50", 6443))
	in.Announced = []netip.Addr{netip.MustParseAddr("192.168.30.51")}
	in.LoadBalancers = []network.LoadBalancer{{Service: "a1", HostedService: "shop/web", Addresses: []netip.Addr{netip.MustParseAddr("192.168.30.52"), netip.MustParseAddr("192.168.100.60")}}}
	in.Networks = append(in.Networks, network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "storage"}, CIDR: netip.MustParsePrefix("192.168.30.0/24"), CIDRField: "cidr", NodePools: []string{"a"}})
	plan, problems := derived(in)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(plan.Networks).To(HaveLen(2))
	addresses := func(all ...string) (out []netip.Addr) {
		for _, a := range all {
			out = append(out, netip.MustParseAddr(a))
		}
		return out
	}
	g.Expect(plan.Networks[0].DHCP.Named).To(Equal(addresses("192.168.100.60")))
	g.Expect(plan.Networks[1].DHCP.Named).To(Equal(addresses("192.168.30.50", "192.168.30.51", "192.168.30.52")))
}

// TestRecordAtAnEdge: a DNS record of the user with an edge's address is a Warning, unless an edge serves that name there.
func TestRecordAtAnEdge(t *testing.T) {
	record := func(name, address string) network.Record {
		return network.Record{Name: name, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
	}
	oauth := named("oauth", "oauth.example.com", 443, network.MatchServerName)
	for what, c := range map[string]struct {
		record    network.Record
		endpoints []network.Endpoint
		warns     bool
	}{
		"the service VIP":                        {record("git.corp.example", "192.168.100.3"), []network.Endpoint{oauth}, true},
		"the next-hop VIP":                       {record("git.corp.example", "192.168.100.2"), []network.Endpoint{oauth}, true},
		"a published name":                       {record("OAuth.example.com", "192.168.100.3"), []network.Endpoint{oauth}, false},
		"another name of the API":                {record("api.corp.example", "192.168.100.3"), []network.Endpoint{named("kube-apiserver", "api.example.com", 6443, network.MatchAny)}, false},
		"a host of the network":                  {record("git.corp.example", "192.168.100.9"), []network.Endpoint{oauth}, false},
		"the address at which the API is public": {record("api.corp.example", "10.240.0.201"), []network.Endpoint{at("kube-apiserver", "10.240.0.201", 6443)}, false},
	} {
		t.Run(what, func(t *testing.T) {
			in := serving(c.endpoints...)
			in.Networks[0].Settings.Records = []network.Record{c.record}
			_, problems := derived(in)
			warns := slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Cause == problem.RecordIsEdge })
			NewWithT(t).Expect(warns).To(Equal(c.warns), "%v", problems)
		})
	}
}
