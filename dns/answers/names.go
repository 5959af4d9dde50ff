// This file makes a tree of names from a view of the plan, so that an answer needs one walk along
// the question's labels.

package answers

import (
	"encoding/json"
	"hash/fnv"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/network"
)

const (
	// ttl is the TTL of records in seconds. A plan changes rarely, but VMs must notice changes
	// soon.
	ttl = 30
	// negativeTTL in seconds is the TTL and the minimum of SOA records (RFC 2308, section 5). A VM
	// must not cache for long that the name of its API server does not exist.
	negativeTTL = 5
)

// A View holds the names for one group of clients.
type View struct {
	name    string
	clients []netip.Prefix
	// ownNamesOnly: no question of these clients is forwarded.
	ownNamesOnly bool
	// nodes are the nodes by name, in lower case with trailing dot. The root always exists.
	nodes map[string]*node
	// internal holds the authority of negative answers, by internal domain.
	internal map[string][]dns.RR
	// cidr is the network's CIDR. The view answers the reverse names of its addresses. cidr is zero
	// in the view of pods, which answers no reverse names.
	cidr    netip.Prefix
	reverse []dns.RR
	// owners has the name for the PTR record of each address inside cidr that has an address
	// record.
	owners map[netip.Addr]string
	// Field below is the domain of VMs' names from DHCP, with a dot before it. Empty: VMs have no
	// names.
	below  string
	serial uint32
}

// Name is the plan's name for the view.
func (v *View) Name() string { return v.name }

// Forwards reports whether questions of the view's clients may be forwarded.
func (v *View) Forwards() bool { return !v.ownNamesOnly }

// A node is an existing name: with records, a zone's apex, or one that only has names below it
// (RFC 4592 section 2.2.2).
type node struct {
	owner string
	// ours: the plan has records with this name, or a zone.
	ours    bool
	a, aaaa []dns.RR
	// soa is set at a zone's apex.
	soa []dns.RR
	// zoned: the name is in a zone of the view.
	zoned bool
	// authority is the SOA of negative answers at or below this name.
	authority []dns.RR
	// wildcard is the node "*" below this node. Nil: none.
	wildcard *node
}

func newView(n network.Network, in network.View, internal []string, serial uint32) *View {
	v := &View{
		name:         in.Name,
		clients:      in.Clients,
		ownNamesOnly: in.OwnNamesOnly,
		nodes:        map[string]*node{},
		internal:     map[string][]dns.RR{},
		cidr:         n.CIDR,
		owners:       map[netip.Addr]string{},
		serial:       serial,
	}
	if n.DHCP.DomainName != "" {
		v.below = "." + dns.CanonicalName(n.DHCP.DomainName)
	}
	v.reverse = soa(reverseZone(n.CIDR), serial)
	v.node(".")
	for _, z := range in.Zones {
		apex := v.node(dns.CanonicalName(z))
		apex.ours = true
		apex.soa = soa(apex.owner, serial)
	}
	for _, r := range in.Records {
		v.add(r)
	}
	for name, n := range v.nodes {
		v.settle(name, n, serial)
	}
	for _, d := range internal {
		d = dns.CanonicalName(d)
		v.internal[d] = soa(d, serial)
	}
	return v
}

// node returns the node of a name, and creates missing nodes up to the root.
func (v *View) node(name string) *node {
	if n := v.nodes[name]; n != nil {
		return n
	}
	n := &node{owner: name}
	v.nodes[name] = n
	if name == "." {
		return n
	}
	parent := v.node(above(name))
	if strings.HasPrefix(name, "*.") {
		parent.wildcard = n
	}
	return n
}

func (v *View) add(r network.Record) {
	n := v.node(dns.CanonicalName(r.Name))
	n.ours = true
	for _, a := range r.Addresses {
		header := dns.RR_Header{Name: n.owner, Class: dns.ClassINET, Ttl: ttl}
		if a = a.Unmap(); a.Is4() {
			header.Rrtype = dns.TypeA
			n.a = append(n.a, &dns.A{Hdr: header, A: a.AsSlice()})
		} else {
			header.Rrtype = dns.TypeAAAA
			n.aaaa = append(n.aaaa, &dns.AAAA{Hdr: header, AAAA: a.AsSlice()})
		}
		if first := v.owners[a]; v.cidr.Contains(a) && !strings.HasPrefix(n.owner, "*.") && (first == "" || n.owner < first) {
			v.owners[a] = n.owner
		}
	}
}

// settle sets the SOA for negative answers at a name to the SOA of its zone. If the name is in no
// zone of v, the SOA is that of a zone with this name. For a wildcard it is that of a zone with the
// parent's name.
func (v *View) settle(name string, n *node, serial uint32) {
	for at := name; ; at = above(at) {
		if up := v.nodes[at]; up != nil && up.soa != nil {
			n.zoned, n.authority = true, up.soa
			return
		}
		if at == "." {
			break
		}
	}
	n.authority = soa(strings.TrimPrefix(name, "*."), serial)
	if name == "*." {
		n.authority = soa(".", serial)
	}
}

// above returns the parent of a name. The parent of "." is ".".
func above(name string) string {
	off, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[off:]
}

func soa(zone string, serial uint32) []dns.RR {
	mailbox := "hostmaster." + zone
	if zone == "." || len(mailbox) > 250 {
		mailbox = "."
	}
	return []dns.RR{&dns.SOA{
		Hdr:     dns.RR_Header{Name: zone, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: negativeTTL},
		Ns:      zone,
		Mbox:    mailbox,
		Serial:  serial,
		Refresh: 3600,
		Retry:   600,
		Expire:  86400,
		Minttl:  negativeTTL,
	}}
}

// serialOf returns a hash of n's DNS settings as the serial: edges that serve different plans have
// different serials. The serial need not increase, since zones are not transferred.
func serialOf(n network.Network) uint32 {
	b, err := json.Marshal(n.DNS)
	if err != nil {
		panic("dns: a plan is always JSON: " + err.Error())
	}
	h := fnv.New32a()
	h.Write(b)
	return h.Sum32()
}
