// This file decides the answer to one question from the plan alone. It queries no
// other server.

package dns

import (
	"net/netip"

	"github.com/miekg/dns"
)

// A Reply is the part of an answer that the plan decides. Its records are
// shared between replies and must not be changed.
type Reply struct {
	// Rcode is a dns.Rcode constant. REFUSED is not authoritative, others are.
	Rcode     int
	Answer    []dns.RR
	Authority []dns.RR
}

// VMs knows which VM has an address.
type VMs interface {
	// VMAt returns the name of the VM with a lease on an address, without a dot. It is
	// the name of its node. Empty: none.
	VMAt(netip.Addr) string
}

// Answer returns the reply of v to q. False: v does not know the name, so an upstream
// may be queried. The VMs may be nil.
//
//	a name with records               them; other types NODATA
//	a name with others below          NODATA in a zone of ours, else not known
//	a name below a wildcard           the wildcard's (RFC 4592)
//	any other name in a zone of ours  NXDOMAIN
//	the reverse of a VM               its name; others in the CIDR NXDOMAIN
//	a name that is internal           NXDOMAIN
func Answer(v *View, vms VMs, q dns.Question) (Reply, bool) {
	if q.Qclass != dns.ClassINET || !ordinary(q.Qtype) {
		return Reply{Rcode: dns.RcodeRefused}, true
	}
	name := dns.CanonicalName(q.Name)
	if p, whole, ok := parseReverse(name); ok && inside(v.cidr, p) {
		return v.pointer(q, p, whole, vms), true
	}
	n, exact := v.closest(name)
	switch {
	case exact && (n.ours || n.zoned):
		return n.reply(q), true
	case !exact && n.wildcard != nil:
		return n.wildcard.reply(q), true
	case !exact && n.zoned:
		return Reply{Rcode: dns.RcodeNameError, Authority: n.authority}, true
	}
	return v.denied(name)
}

// ordinary reports whether a type may be queried. Zone transfers and the other types
// without data may not (RFC 6895, section 3.1). ANY may.
func ordinary(t uint16) bool {
	return t == dns.TypeANY || t != dns.TypeNone && t != dns.TypeOPT && (t < 128 || t > 255)
}

// closest returns the node at name, or at the nearest existing ancestor.
func (v *View) closest(name string) (n *node, exact bool) {
	if n = v.nodes[name]; n != nil {
		return n, true
	}
	for at := above(name); ; at = above(at) {
		if n = v.nodes[at]; n != nil {
			return n, false
		}
	}
}

// reply returns the records at n. ANY gets one record set (RFC 8482, section 4.1).
func (n *node) reply(q dns.Question) Reply {
	var rrs []dns.RR
	switch q.Qtype {
	case dns.TypeA:
		rrs = n.a
	case dns.TypeAAAA:
		rrs = n.aaaa
	case dns.TypeSOA:
		rrs = n.soa
	case dns.TypeANY:
		for _, rrs = range [][]dns.RR{n.a, n.aaaa, n.soa} {
			if len(rrs) > 0 {
				break
			}
		}
	}
	if len(rrs) == 0 {
		return Reply{Authority: n.authority}
	}
	return Reply{Answer: owned(rrs, q.Name)}
}

// owned returns rrs with the owner name as queried: clients compare its case.
func owned(rrs []dns.RR, name string) []dns.RR {
	if rrs[0].Header().Name == name {
		return rrs
	}
	out := make([]dns.RR, len(rrs))
	for i, rr := range rrs {
		out[i] = dns.Copy(rr)
		out[i].Header().Name = name
	}
	return out
}

// denied returns the negative answer for an internal name.
func (v *View) denied(name string) (Reply, bool) {
	if len(v.internal) == 0 {
		return Reply{}, false
	}
	for at := name; ; at = above(at) {
		if authority := v.internal[at]; authority != nil {
			r := Reply{Rcode: dns.RcodeNameError, Authority: authority}
			if v.hasBelow(name) {
				r.Rcode = dns.RcodeSuccess
			}
			return r, true
		}
		if at == "." {
			return Reply{}, false
		}
	}
}

// hasBelow reports whether there are names below name: NXDOMAIN for name would deny
// them, too (RFC 8020).
func (v *View) hasBelow(name string) bool {
	if v.nodes[name] != nil {
		return true
	}
	p, _, ok := parseReverse(name)
	return ok && p.Bits() < v.cidr.Bits() && p.Contains(v.cidr.Addr())
}
