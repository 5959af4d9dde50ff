// Package dnsnames has the network whose names tests of the DNS server query, and makes text of its answers.
package dnsnames

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
)

// Addresses parses addresses.
func Addresses(in ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range in {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// Prefixes parses prefixes.
func Prefixes(in ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range in {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// Blue is a network whose zone is all its own, except for one name of others.
func Blue(mode network.UpstreamMode) network.Network {
	return network.Network{
		Name:       "clusters-blue.vlan100",
		CIDR:       netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: netip.MustParseAddr("192.168.100.2"),
		ServiceVIP: netip.MustParseAddr("192.168.100.3"),
		DNS: network.DNS{
			Upstreams: network.Upstreams{Mode: mode},
			Views: []network.View{{
				Name:    "vms",
				Clients: Prefixes("192.168.100.0/24"),
				Zones:   []string{"blue.example.com"},
				Records: []network.Record{
					{Name: "api.blue.example.com", Addresses: Addresses("192.168.100.3")},
					{Name: "*.apps.blue.example.com", Addresses: Addresses("192.168.100.3")},
					{Name: "console.apps.blue.example.com", Addresses: Addresses("192.168.100.9", "192.168.100.10")},
					{Name: "a.deep.apps.blue.example.com", Addresses: Addresses("192.168.100.11")},
					{Name: "x.y.z.blue.example.com", Addresses: Addresses("192.168.100.12")},
					{Name: "ignition.others.example.net", Addresses: Addresses("192.168.100.3")},
					{Name: "*.cdn.example.net", Addresses: Addresses("192.168.100.3")},
					{Name: "six.blue.example.com", Addresses: Addresses("2001:db8::6", "192.168.100.13")},
				},
			}},
		},
	}
}

// Leases are VMs that never change.
type Leases map[netip.Addr]string

// VMAt returns the name of the VM.
func (l Leases) VMAt(a netip.Addr) string { return l[a] }

// HasMAC is false.
func (l Leases) HasMAC(string) bool { return false }

// VMNamed returns the addresses of the VM, sorted.
func (l Leases) VMNamed(name string) (addresses []netip.Addr, exists bool) {
	for a, vm := range l {
		exists = exists || vm == name || strings.HasSuffix(vm, "."+name)
		if vm == name {
			addresses = append(addresses, a)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses, exists
}

// Workers are the VMs of Blue.
var Workers = Leases{netip.MustParseAddr("192.168.100.20"): "blue-abcde-fghij"}

// Text is a reply as lines: the code, then records as a zone file has them,
// those of the authority section behind ";". Blanks are single, serials 1.
func Text(r answers.Reply, known bool) string {
	if !known {
		return "not known"
	}
	lines := []string{dns.RcodeToString[r.Rcode]}
	line := func(rr dns.RR) string {
		rr = dns.Copy(rr)
		if soa, ok := rr.(*dns.SOA); ok {
			soa.Serial = 1
		}
		return Blanks.Replace(rr.String())
	}
	for _, rr := range r.Answer {
		lines = append(lines, line(rr))
	}
	for _, rr := range r.Authority {
		lines = append(lines, "; "+line(rr))
	}
	return strings.Join(lines, "\n")
}

// Blanks makes each tab a blank.
var Blanks = strings.NewReplacer("\t", " ")
