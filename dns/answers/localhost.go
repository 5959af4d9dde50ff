// This file answers the names that mean the host itself (RFC 6761 section 6.3).

package answers

import (
	"net"
	"strings"

	"github.com/miekg/dns"
)

// loopback and loopback6 are the reverse names of 127.0.0.1 and ::1.
const loopback, loopback6 = "1.0.0.127.in-addr.arpa.", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa."

// localhost returns the answer for localhost, a name below it, or the names of 127.0.0.1 and ::1. The name is in lower
// case. False: it is another name.
func localhost(name string, kind uint16) (Reply, bool) {
	const zone = "localhost."
	header := dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
	switch {
	case name == loopback || name == loopback6:
		if kind == dns.TypePTR {
			return Reply{Answer: []dns.RR{&dns.PTR{Hdr: header, Ptr: zone}}}, true
		}
		return Reply{Authority: soa(name, 1)}, true
	case name != zone && !strings.HasSuffix(name, "."+zone):
		return Reply{}, false
	case kind == dns.TypeA:
		return Reply{Answer: []dns.RR{&dns.A{Hdr: header, A: net.IPv4(127, 0, 0, 1)}}}, true
	case kind == dns.TypeAAAA:
		return Reply{Answer: []dns.RR{&dns.AAAA{Hdr: header, AAAA: net.IPv6loopback}}}, true
	}
	return Reply{Authority: soa(zone, 1)}, true
}
