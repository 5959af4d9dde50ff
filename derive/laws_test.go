package derive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// world makes a given from seed: any mixture of networks, settings and endpoints, valid
// and invalid.
func world(seed uint64) given {
	r := rand.New(rand.NewPCG(seed, 1))
	addr := func() netip.Addr {
		return netip.AddrFrom4([4]byte{byte(r.IntN(4)) + 10, byte(r.IntN(2)), byte(r.IntN(2)), byte(r.IntN(256))})
	}
	in := asking(1 + r.IntN(2))
	in.Cluster = network.Cluster{Namespace: "clusters", Name: "blue", ControlPlaneNamespace: "clusters-blue", Domain: "blue.example.com"}
	for i := range r.IntN(4) {
		s := network.NetworkRequest{Attachment: network.Attachment{Namespace: "clusters", Name: fmt.Sprint("vlan", i)}, Primary: r.IntN(3) > 0, NodePools: []string{"b", "a"}, CIDRField: "cidr"}
		if r.IntN(4) > 0 {
			s.CIDR = netip.PrefixFrom(addr(), 8+r.IntN(25)).Masked()
		}
		if r.IntN(2) > 0 {
			s.Gateway = addr()
		}
		for range r.IntN(3) {
			s.Settings.ClientNetworks = append(s.Settings.ClientNetworks, netip.PrefixFrom(addr(), 8+r.IntN(25)).Masked())
		}
		s.VMs = []int{0, 3, 300, 70000}[r.IntN(4)]
		if r.IntN(3) == 0 {
			s.Settings = network.Settings{ClientNetworks: s.Settings.ClientNetworks, EdgeAddresses: []netip.Addr{addr(), addr(), addr(), addr()}[:r.IntN(5)], DHCPRange: network.Range{First: addr(), Last: addr()}, Reservations: []network.Reservation{{MAC: "02:00:00:00:00:01", Address: addr()}}, DHCPExclude: []network.Range{{First: addr(), Last: addr()}}}
		}
		if r.IntN(3) == 0 {
			all := network.AllServices()
			s.Settings.Services = slices.DeleteFunc(all, func(network.Service) bool { return r.IntN(2) == 0 })
			s.Settings.Upstreams = &network.Upstreams{Mode: network.UpstreamServers, Servers: []netip.AddrPort{netip.AddrPortFrom(addr(), 53)}}
		}
		in.Networks = append(in.Networks, s)
	}
	for i := range r.IntN(6) {
		e := network.Endpoint{Name: fmt.Sprint("e", i), Port: []uint16{443, 6443, 30000}[r.IntN(3)], Match: []network.Match{network.MatchAny, network.MatchServerName}[r.IntN(2)], Backend: network.Backend{Name: fmt.Sprint("s", i, ":1"), Service: fmt.Sprint("s", i), Port: 1}}
		if r.IntN(2) > 0 || e.Match == network.MatchServerName {
			e.Hosts = []string{fmt.Sprintf("H%d.example.com.", r.IntN(4))}
		} else {
			e.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{203, 0, 113, byte(r.IntN(4))})}
		}
		if len(e.Hosts) > 0 && r.IntN(3) == 0 {
			e.Origin, e.LoadBalancer = network.OriginApps, addr()
			if s := slices.IndexFunc(in.Networks, func(s network.NetworkRequest) bool { return s.CIDR.IsValid() }); s >= 0 && r.IntN(4) > 0 {
				e.LoadBalancer = in.Networks[s].CIDR.Addr().Next()
				for range r.IntN(8) {
					e.LoadBalancer = e.LoadBalancer.Next()
				}
			}
		}
		in.Endpoints = append(in.Endpoints, e)
	}
	in.Access = access(r, in, addr)
	return in
}

// access opens up to five destinations of in, some of them impossible, to all or to some.
func access(r *rand.Rand, in given, addr func() netip.Addr) network.AccessRequest {
	out := network.AccessRequest{Apps: network.Record{Name: "*.apps.example.com"}}
	for range r.IntN(6) {
		e := network.AccessEntry{Destination: []string{"nodes", "apps", "a.example.com", "b.example.com"}[r.IntN(4)], Port: []uint16{22, 80, 443}[r.IntN(3)], Listen: []uint16{0, 0, 22, 3128, 5432}[r.IntN(5)]}
		if strings.Contains(e.Destination, ".") && r.IntN(4) > 0 {
			e.Destination = addr().String()
			if i := r.IntN(5); i < len(in.Networks) && in.Networks[i].CIDR.IsValid() {
				e.Destination = network.AddressOf(network.Number(in.Networks[i].CIDR.Addr()) + uint32(r.IntN(12))).String()
			}
			e.Addresses = []netip.Addr{netip.MustParseAddr(e.Destination)}
		}
		out.Entries = append(out.Entries, e)
	}
	if r.IntN(3) == 0 {
		out.Accounts = []string{"b/b", "a/a", "a/a"}[r.IntN(3):]
	}
	out.Namespaces = []string{"b", "a", "b"}[r.IntN(4):]
	return out
}

func shuffled(in given, seed uint64) given {
	r := rand.New(rand.NewPCG(seed, 2))
	in.Networks, in.Endpoints = slices.Clone(in.Networks), slices.Clone(in.Endpoints)
	r.Shuffle(len(in.Networks), func(i, j int) { in.Networks[i], in.Networks[j] = in.Networks[j], in.Networks[i] })
	r.Shuffle(len(in.Endpoints), func(i, j int) { in.Endpoints[i], in.Endpoints[j] = in.Endpoints[j], in.Endpoints[i] })
	in.Access.Entries, in.Access.Namespaces, in.Access.Accounts = mixed(r, in.Access.Entries), mixed(r, in.Access.Namespaces), mixed(r, in.Access.Accounts)
	return in
}

// laws checks one given against the laws of a plan.
func laws(t *testing.T, seed uint64) {
	g := NewWithT(t)
	in := world(seed)
	plan, problems := derived(in)

	again, _ := derived(shuffled(in, seed))
	g.Expect(cmp.Diff(string(plan.JSON()), string(again.JSON()))).To(BeEmpty(), "deterministic: order carries no meaning")

	var read network.Plan
	g.Expect(json.Unmarshal(plan.JSON(), &read)).To(Succeed(), "round-trips through JSON")
	g.Expect(bytes.Equal(read.JSON(), plan.JSON())).To(BeTrue(), "round-trips through JSON")

	if problems.Blocking() {
		return
	}
	g.Expect(plan.Validate()).To(Succeed(), "valid where nothing blocks")

	other := in
	other.Edges = 3 - in.Edges
	changed, ps := derived(other)
	g.Expect(ps).To(Equal(problems), "stable: one edge or two is no problem of addresses")
	g.Expect(cmp.Diff(shape(plan, in.Edges), shape(changed, other.Edges))).To(BeEmpty(), "stable: one edge or two moves nobody")

	more := in
	more.Networks = append(slices.Clone(in.Networks), network.NetworkRequest{Attachment: network.Attachment{Namespace: "clusters", Name: "added"}, Primary: true, CIDR: netip.MustParsePrefix("172.21.0.0/24")})
	larger, _ := derived(more)
	for _, n := range plan.Networks {
		i := slices.IndexFunc(larger.Networks, func(x network.Network) bool { return x.Name == n.Name })
		g.Expect(i).To(BeNumerically(">=", 0))
		g.Expect(cmp.Diff(held(n), held(larger.Networks[i]))).To(BeEmpty(), "stable: one more network moves nobody")
	}
}

// shape is p without what depends on the number of edges, of which each network has this
// many.
func shape(p network.Plan, edges int) string {
	var out []string
	for _, n := range p.Networks {
		out = append(out, n.Name, fmt.Sprint("edges as asked: ", len(n.Edges) == edges))
		for i, e := range n.Edges {
			out = append(out, fmt.Sprint("edge by number: ", e.Number == i+1), e.Address.String())
		}
		for _, a := range n.ReservedAddresses {
			out = append(out, "edge by number: true", a.String())
		}
		n.Edges, n.ReservedAddresses = nil, nil
		out = append(out, string(network.Plan{Networks: []network.Network{n}}.JSON()))
	}
	return strings.Join(out, "\n")
}

func held(n network.Network) []string {
	out := []string{n.NextHopVIP.String(), n.ServiceVIP.String(), n.DHCP.Range.String()}
	for _, e := range n.Edges {
		out = append(out, e.Address.String())
	}
	return out
}

func TestLaws(t *testing.T) {
	for seed := range uint64(5000) {
		laws(t, seed)
	}
}

func FuzzLaws(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(laws)
}

// TestSecondEdgeChangesNoAddress: a second edge changes no address, because its address was reserved.
func TestSecondEdgeChangesNoAddress(t *testing.T) {
	g := NewWithT(t)
	in := asking(1, network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "b"}, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24")})
	one, _ := derived(in)
	in.Edges = 2
	two, _ := derived(in)
	g.Expect(two.Networks[0].Edges[0]).To(Equal(one.Networks[0].Edges[0]))
	g.Expect(two.Networks[0].Edges[1].Address).To(Equal(one.Networks[0].ReservedAddresses[0]))
	g.Expect(two.Networks[0].DHCP).To(Equal(one.Networks[0].DHCP))
}
