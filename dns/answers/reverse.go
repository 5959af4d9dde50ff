// This file parses reverse names (RFC 1035, section 3.5) and answers questions for the reverse
// names of the network's addresses.

package answers

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

const reverseRoot = "in-addr.arpa."

// parseReverse returns the prefix of a reverse name, in lower case with trailing dot:
// 192.168.100.0/24 for 100.168.192.in-addr.arpa. Result whole is false if some labels are
// not part of an address.
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
		if err != nil || len(label) > 1 && label[0] == '0' {
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

// reverseZones returns the reverse zones, at octet boundaries, of the addresses in p, without
// trailing dots: at most 128, none for IPv6.
func reverseZones(p netip.Prefix) []string {
	if !p.Addr().Is4() {
		return nil
	}
	whole := (p.Bits() + 7) / 8 * 8
	var out []string
	for i := range 1 << (whole - p.Bits()) {
		octets := p.Masked().Addr().As4()
		if whole > 0 {
			octets[whole/8-1] += byte(i)
		}
		out = append(out, strings.TrimSuffix(reverseZone(netip.PrefixFrom(netip.AddrFrom4(octets), whole)), "."))
	}
	return out
}

func inside(cidr, p netip.Prefix) bool {
	return p.Bits() >= cidr.Bits() && cidr.Contains(p.Addr())
}

// pointer answers a reverse name of the network with the VM's name, without a domain. A VM
// without a host name may adopt the name (NetworkManager does), and its node must have the
// VM's name.
func (v *View) pointer(name string, kind uint16, p netip.Prefix, whole bool, vms VMs) Reply {
	if name == v.reverse[0].Header().Name && (kind == dns.TypeSOA || kind == dns.TypeANY) {
		return Reply{Answer: v.reverse}
	}
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
	if kind != dns.TypePTR && kind != dns.TypeANY {
		return Reply{Authority: v.reverse}
	}
	return Reply{Answer: []dns.RR{&dns.PTR{
		Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypePTR, Class: dns.ClassINET, Ttl: ttl},
		Ptr: dns.Fqdn(target),
	}}}
}
