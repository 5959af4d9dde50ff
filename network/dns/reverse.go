// This file decides what reverse names mean (RFC 1035, section 3.5) and what is
// answered to those of the network's own addresses.

package dns

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

const reverseRoot = "in-addr.arpa."

// parseReverse is the prefix that a reverse name stands for: 100.168.192 in
// front of in-addr.arpa is 192.168.100.0/24. Whole is false where labels are
// left over that are no part of an address. Names are in lower case with
// trailing dot.
func parseReverse(name string) (p netip.Prefix, whole, ok bool) {
	rest, ok := strings.CutSuffix(name, "."+reverseRoot)
	if !ok {
		return netip.Prefix{}, false, false
	}
	var octets [4]byte
	n := 0
	for rest != "" && n < len(octets) {
		at := strings.LastIndexByte(rest, '.')
		label := rest[at+1:]
		v, err := strconv.ParseUint(label, 10, 8)
		if err != nil || label != strconv.FormatUint(v, 10) {
			break
		}
		octets[n] = byte(v)
		n++
		rest = rest[:max(at, 0)]
	}
	return netip.PrefixFrom(netip.AddrFrom4(octets), n*8), rest == "", true
}

// reverseZone is the reverse name of the smallest whole octets that hold p.
func reverseZone(p netip.Prefix) string {
	zone := reverseRoot
	if !p.Addr().Is4() {
		return zone
	}
	for _, o := range p.Addr().AsSlice()[:p.Bits()/8] {
		zone = strconv.Itoa(int(o)) + "." + zone
	}
	return zone
}

func inside(cidr, p netip.Prefix) bool {
	return p.Bits() >= cidr.Bits() && cidr.Contains(p.Addr())
}

// pointer answers for a reverse name of the network itself. A machine's name is
// given as it is, without a domain: a machine that was told no host name takes
// this one (NetworkManager does), and it must be its node's name.
func (v *View) pointer(q dns.Question, p netip.Prefix, whole bool, machines Machines) Reply {
	if whole && p.Bits() < 32 {
		return Reply{Authority: v.reverse}
	}
	target := ""
	if whole {
		target = v.owners[p.Addr()]
		if target == "" && machines != nil {
			target = machines.MachineAt(p.Addr())
		}
	}
	if _, ok := dns.IsDomainName(target); target == "" || !ok {
		return Reply{Rcode: dns.RcodeNameError, Authority: v.reverse}
	}
	if q.Qtype != dns.TypePTR && q.Qtype != dns.TypeANY {
		return Reply{Authority: v.reverse}
	}
	return Reply{Answer: []dns.RR{&dns.PTR{
		Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypePTR, Class: dns.ClassINET, Ttl: ttl},
		Ptr: dns.Fqdn(target),
	}}}
}
