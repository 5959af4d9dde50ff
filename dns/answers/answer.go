// Package answers decides the answer to one question from the plan alone (RFC 1034 section 4.3.2, RFC 4592, RFC 2308).
// It also decides which upstream servers may be asked other questions. It does no I/O: it maps names to records, and
// question packets to answer packets.
package answers

import (
	"net/netip"

	"github.com/miekg/dns"
)

// A Reply is the part of an answer that the plan decides. Replies share records, so do not change these.
type Reply struct {
	// Rcode is a dns.Rcode constant. All replies except REFUSED are authoritative.
	Rcode     int
	Answer    []dns.RR
	Authority []dns.RR
}

// VMs knows which VM has an address. A VM, its KubeVirt object and its node have the same name.
type VMs interface {
	// VMAt returns the name of the VM with a lease on an address, without a dot at its end. Empty: none.
	VMAt(netip.Addr) string
	// VMNamed returns the leased addresses of the VM with this name. The name is in lower case.
	// exists reports whether a VM with a lease has this name, or a name that ends with a dot and
	// this name.
	VMNamed(name string) (addresses []netip.Addr, exists bool)
	// HasMAC reports whether a VM with a lease has this MAC, in lower case with colons.
	HasMAC(mac string) bool
}

// Answer returns the reply of v to q. False: v does not know the name, so upstreams may be asked. vms may be nil.
//
//	localhost, and names below it     the host itself (RFC 6761), unless the clients are pods
//	a name with records               the records; other types NODATA
//	a name below a wildcard           the records of the wildcard (RFC 4592)
//	a VM's name in the domain         the VM's addresses; other types NODATA
//	a name with names below it        NODATA in a zone of v, else not known
//	any other name in a zone of v     NXDOMAIN
//	the reverse name of a VM          the VM's name; other addresses of the CIDR NXDOMAIN
//	an internal name                  NXDOMAIN
func Answer(v *View, vms VMs, q dns.Question) (Reply, bool) {
	r, known := Decide(v, vms, dns.CanonicalName(q.Name), q.Qtype, q.Qclass)
	if len(r.Answer) > 0 {
		r.Answer = owned(r.Answer, q.Name)
	}
	return r, known
}

// Decide is Answer for a name in lower case. The caller must put the queried name into the records.
func Decide(v *View, vms VMs, name string, kind, class uint16) (Reply, bool) {
	if class != dns.ClassINET || !ordinary(kind) {
		return Reply{Rcode: dns.RcodeRefused}, true
	}
	if r, ok := localhost(name, kind); ok && v.cidr.IsValid() {
		return r, true
	}
	if p, whole, ok := parseReverse(name); ok && inside(v.cidr, p) {
		return v.pointer(name, kind, p, whole, vms), true
	}
	n, exact := v.closest(name)
	switch {
	case exact && n.ours:
		return n.reply(kind), true
	case !exact && n.wildcard != nil:
		return n.wildcard.reply(kind), true
	}
	if r, ok := v.vm(name, kind, n, vms); ok {
		return r, true
	}
	switch {
	case exact && n.zoned:
		return n.reply(kind), true
	case !exact && n.zoned && v.hasBelow(name):
		return Reply{Authority: n.authority}, true
	case !exact && n.zoned:
		return Reply{Rcode: dns.RcodeNameError, Authority: n.authority}, true
	}
	return v.denied(name)
}

// ordinary reports whether a type may be queried. ANY may, but no zone transfer or type without data (RFC 6895,
// section 3.1).
func ordinary(t uint16) bool {
	return t == dns.TypeANY || t != dns.TypeNone && t != dns.TypeOPT && (t < 128 || t > 255)
}

// closest returns the node at name, else at its nearest existing ancestor.
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
func (n *node) reply(kind uint16) Reply {
	var rrs []dns.RR
	switch kind {
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
	return Reply{Answer: rrs}
}

// owned returns rrs with the owner name as queried: clients compare upper and lower case.
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

// denied returns the negative answer for an internal name. False: name is not internal.
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

// hasBelow reports whether there are names below name, which NXDOMAIN would deny, too (RFC 8020).
func (v *View) hasBelow(name string) bool {
	if v.nodes[name] != nil {
		return true
	}
	p, _, ok := parseReverse(name)
	return ok && p.Bits() < v.cidr.Bits() && p.Contains(v.cidr.Addr())
}
