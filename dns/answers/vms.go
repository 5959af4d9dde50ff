// This file answers the names of VMs in the domain of the hosted cluster.

package answers

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// vm answers the name of a VM: <vm>.<domain>. Parameter at is the node at or above name. False:
// no VM has it. Names of the plan come first.
func (v *View) vm(name string, kind uint16, at *node, vms VMs) (Reply, bool) {
	short, ok := strings.CutSuffix(name, v.below)
	if v.below == "" || !ok || vms == nil {
		return Reply{}, false
	}
	addresses, exists := vms.VMNamed(short)
	addresses = slices.DeleteFunc(addresses, func(a netip.Addr) bool { return !v.cidr.Contains(a) || !a.Is4() })
	switch {
	case !exists:
		return Reply{}, false
	case len(addresses) == 0, kind != dns.TypeA && kind != dns.TypeANY:
		if at.zoned {
			return Reply{Authority: at.authority}, true
		}
		return Reply{Authority: soa(name, v.serial)}, true
	}
	var out []dns.RR
	for _, a := range addresses {
		out = append(out, &dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}, A: a.AsSlice()})
	}
	return Reply{Answer: out}, true
}
