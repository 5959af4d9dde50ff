package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// dialing is a plan with two external hosts, an upstream server and a permitted destination.
func dialing(t *testing.T) network.Plan {
	t.Helper()
	in := asksOf("192.0.2.53:53", "198.51.100.53:53")
	for _, host := range []string{"quay.io", "evil.example.net"} {
		in.Endpoints = append(in.Endpoints, network.Endpoint{Name: host + ":443", Origin: network.OriginRegistry, Hosts: []string{host}, Port: 443, Match: network.MatchServerName,
			Backend: network.Backend{Kind: network.BackendExternal, Name: host + ":443", Host: host, Port: 443}})
	}
	in.Permissions.Destinations = prefixesOf("10.0.0.0/25", "10.0.0.128/25")
	plan, problems := derived(in)
	NewWithT(t).Expect(problems.Of(problem.SeverityWarning)).To(BeEmpty())
	return plan
}

// TestRestricted: the plan in force loses what is no longer permitted, even if the author's settings have an Error.
func TestRestricted(t *testing.T) {
	g := NewWithT(t)
	last := dialing(t)
	services := network.ReservedDestination{What: "Services", Prefix: netip.MustParsePrefix("198.51.100.0/24")}
	got := derive.Restricted(last, []network.ReservedDestination{services}, network.Permissions{Hosts: []string{"quay.io"}})
	g.Expect(got.Validate()).To(Succeed())
	n := got.Networks[0]
	g.Expect(n.Backends).To(HaveExactElements(HaveField("Host", "quay.io")))
	g.Expect(n.Listeners).To(HaveExactElements(HaveField("Forwards", HaveExactElements(HaveField("ServerNames", HaveExactElements("quay.io"))))))
	g.Expect(n.UpstreamServers()).To(HaveExactElements(netip.MustParseAddrPort("192.0.2.53:53")))
	g.Expect(n.PermittedDestinations).To(BeEmpty())
	g.Expect(n.ReservedDestinations).To(HaveExactElements(services.Prefix))
	g.Expect(derive.Restricted(got, nil, network.Permissions{Hosts: []string{"quay.io"}})).To(Equal(got), "what was reserved stays")
	g.Expect(last.Networks[0].Backends).To(HaveLen(2), "the argument is unchanged")

	none := derive.Restricted(last, nil, network.Permissions{Hosts: []string{}, Upstreams: []netip.Prefix{}})
	g.Expect(none.Validate()).To(Succeed())
	g.Expect(none.Networks[0].Listeners).To(BeEmpty())
	g.Expect(none.Networks[0].DNS.Upstreams.Servers).To(BeEmpty())
}

// TestRestrictedIsNothingNew: if permissions do not change, the plan does not change, to the byte.
func TestRestrictedIsNothingNew(t *testing.T) {
	g := NewWithT(t)
	last := dialing(t)
	g.Expect(string(derive.Restricted(last, nil, network.Permissions{Destinations: prefixesOf("10.0.0.0/25", "10.0.0.128/25")}).JSON())).To(Equal(string(last.JSON())))
	for seed := range uint64(500) {
		in := world(seed)
		plan, _ := derived(in)
		g.Expect(string(derive.Restricted(plan, in.Reserved, in.Permissions).JSON())).To(Equal(string(plan.JSON())))
	}
}
