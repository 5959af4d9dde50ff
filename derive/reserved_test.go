package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestReservedDestinations: a network must not overlap destinations that its edges reach
// through the pod network.
func TestReservedDestinations(t *testing.T) {
	place := func(what, prefix string, node bool) network.ReservedDestination {
		return network.ReservedDestination{What: what, Prefix: netip.MustParsePrefix(prefix), Node: node, Required: true}
	}
	resolver := place("the resolver", "192.168.100.53/32", false)
	for name, c := range map[string]struct {
		elsewhere []network.ReservedDestination
		published string
		field     string
		words     []string
	}{
		"apart":                              {elsewhere: []network.ReservedDestination{place("the resolver", "172.30.0.10/32", false), place("node a", "10.0.0.5/32", true)}},
		"IPv6 is not ours":                   {elsewhere: []network.ReservedDestination{place("the pods of node a", "fd01::/48", false)}},
		"the resolver inside":                {elsewhere: []network.ReservedDestination{resolver}, field: "cidr", words: []string{"192.168.100.0/24", "the resolver (192.168.100.53)"}},
		"inside the pod network":             {elsewhere: []network.ReservedDestination{place("the pods of node a", "192.168.0.0/16", false)}, field: "cidr", words: []string{"the pods of node a (192.168.0.0/16)"}},
		"nodes inside, told once":            {elsewhere: []network.ReservedDestination{place("node a", "192.168.100.7/32", true), place("node b", "192.168.100.8/32", true), resolver}, field: "cidr", words: []string{"node a", "and 2 more"}},
		"published is a Service's":           {elsewhere: []network.ReservedDestination{place("Service kube-apiserver", "203.0.113.10/32", false)}, published: "203.0.113.10", field: "spec.services", words: []string{"203.0.113.10", "Service kube-apiserver"}},
		"published in a pod network":         {elsewhere: []network.ReservedDestination{place("the pods of node a", "203.0.113.0/25", false)}, published: "203.0.113.10", field: "spec.services", words: []string{"203.0.113.0/25"}},
		"published is a node's, a node port": {elsewhere: []network.ReservedDestination{place("node a", "203.0.113.10/32", true)}, published: "203.0.113.10"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := asking(1, network.NetworkRequest{
				Attachment: network.Attachment{Namespace: "a", Name: "b"}, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), CIDRField: "cidr", CIDRKeys: []string{"cidr"}})
			in.Reserved = c.elsewhere
			if c.published != "" {
				in.Endpoints = []network.Endpoint{{Name: "api", Addresses: []netip.Addr{netip.MustParseAddr(c.published)}, Port: 6443,
					Match: network.MatchAny, Backend: network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443}}}
			}
			_, problems := derived(in)
			if c.field == "" {
				g.Expect(problems).To(BeEmpty())
				return
			}
			g.Expect(problems).To(HaveLen(1))
			g.Expect(problems[0]).To(And(HaveField("Reason", problem.AddressConflict), HaveField("Keys", ContainElement(c.field)), HaveField("Blocks()", true)))
			for _, w := range c.words {
				g.Expect(message(problems[0])).To(ContainSubstring(w))
			}
		})
	}
}

// TestSecondaryOverlap: a secondary network that overlaps is left out, and the others are
// served.
func TestSecondaryOverlap(t *testing.T) {
	g := NewWithT(t)
	in := asking(1,
		network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "b"}, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24")},
		network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "c"}, CIDR: netip.MustParsePrefix("10.128.0.0/24")})
	in.Reserved = []network.ReservedDestination{{What: "the pods of node a", Prefix: netip.MustParsePrefix("10.128.0.0/23"), Required: true}}
	plan, problems := derived(in)
	g.Expect(problems).To(HaveLen(1))
	g.Expect(problems.Blocking()).To(BeFalse())
	g.Expect(plan.Networks).To(HaveLen(1))
}

// TestSpecialCIDR: loopback, multicast and link-local addresses are no network of VMs.
func TestSpecialCIDR(t *testing.T) {
	for _, cidr := range []string{"127.0.0.0/16", "224.0.0.0/24", "169.254.0.0/24", "0.0.0.0/8", "240.0.0.0/24", "168.63.0.0/16"} {
		t.Run(cidr, func(t *testing.T) {
			g := NewWithT(t)
			_, problems := derived(asking(1, network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "b"}, Primary: true,
				CIDR: netip.MustParsePrefix(cidr), CIDRField: "annotation cidr", CIDRKeys: []string{"cidr"}}))
			g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.CIDROverlapsOther), WithTransform(message, ContainSubstring("overlaps the special-purpose block")), HaveField("Keys", ContainElement("cidr")), HaveField("Blocks()", true))))
		})
	}
}
