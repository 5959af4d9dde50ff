// This file parses reverse names (RFC 1035, section 3.5) and answers those of the
// network's addresses.

package dns

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

const reverseRoot = "in-addr.arpa."

// parseReverse returns the prefix of a reverse name: 100.168.192.in-addr.arpa. is
// 192.168.100.0/24. Whole is false if some labels are not part of an address. Names are
// in lower case with trailing dot.
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

// reverseZone returns the reverse zone, at an octet boundary, that contains p.
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

// pointer answers a reverse name of the network. The name of a VM has no domain: a VM
// without a host name takes this one (NetworkManager does), and it must be the name of
// its node.
func (v *View) pointer(q dns.Question, p netip.Prefix, whole bool, vms VMs) Reply {
	if whole && p.Bits() < 32 {
		return Reply{Authority: v.reverse}
	}
	target := ""
	if whole {
		target = v.owners[p.Addr()]
		if target == "" && vms != nil {
			target = vms.VMAt(p.Addr())
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
