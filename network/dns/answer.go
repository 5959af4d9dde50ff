// This file decides what is answered to one question. It never asks anybody
// else: what it does not know, it says it does not know.

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

// Machines knows which machine holds an address.
type Machines interface {
	// MachineAt is the name of the machine that holds a lease on an address,
	// without a dot: the name of its node. Empty: none does.
	MachineAt(netip.Addr) string
}

// Answer is what v says to q, and false where v knows nothing of the name, so
// that somebody else may be asked. Machines may be nil.
//
//	a name with records               them; other types NODATA
//	a name with others below          NODATA in a zone of ours, else not known
//	a name below a wildcard           the wildcard's (RFC 4592)
//	any other name in a zone of ours  NXDOMAIN
//	the reverse of a machine          its name; others in the CIDR NXDOMAIN
//	a name that is elsewhere          NXDOMAIN
func Answer(v *View, machines Machines, q dns.Question) (Reply, bool) {
	if q.Qclass != dns.ClassINET || !ordinary(q.Qtype) {
		return Reply{Rcode: dns.RcodeRefused}, true
	}
	name := dns.CanonicalName(q.Name)
	if p, whole, ok := parseReverse(name); ok && inside(v.cidr, p) {
		return v.pointer(q, p, whole, machines), true
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

// ordinary says whether a type may be asked for: neither a zone transfer nor
// another of the types that are no data (RFC 6895, section 3.1). ANY may.
func ordinary(t uint16) bool {
	return t == dns.TypeANY || t != dns.TypeNone && t != dns.TypeOPT && (t < 128 || t > 255)
}

// closest is the node at name, or at the nearest name above that exists.
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

// reply is what is at n. ANY gets one set of records only (RFC 8482, section
// 4.1).
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

// owned is rrs at the name as it was asked, whose case clients compare.
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

// denied is the answer for a name that is elsewhere.
func (v *View) denied(name string) (Reply, bool) {
	if len(v.elsewhere) == 0 {
		return Reply{}, false
	}
	for at := name; ; at = above(at) {
		if authority := v.elsewhere[at]; authority != nil {
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

// hasBelow says whether we answer for something below name: to deny the name
// would deny that too (RFC 8020).
func (v *View) hasBelow(name string) bool {
	if v.nodes[name] != nil {
		return true
	}
	p, _, ok := parseReverse(name)
	return ok && p.Bits() < v.cidr.Bits() && p.Contains(v.cidr.Addr())
}
