// This file reads which networks the VMs of a hosted cluster are attached to, and
// which addresses they have there.

package hcp

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
)

// vmAttachments returns the networks that o's VMs are attached to, with duplicates.
func vmAttachments(o Objects) []network.Attachment {
	var out []network.Attachment
	for _, m := range o.VMs {
		for _, n := range m.Spec.Networks {
			if n.Multus != nil {
				out = append(out, nad.ParseName(n.Multus.NetworkName, m.Namespace))
			}
		}
	}
	return out
}

// bootedFrom returns the networks that o's VMs boot from, with duplicates: the first one of each VM
// that has no pod network before it.
func bootedFrom(o Objects) []network.Attachment {
	var out []network.Attachment
	for _, m := range o.VMs {
		if all := m.Spec.Networks; len(all) > 0 && all[0].Multus != nil {
			out = append(out, nad.ParseName(all[0].Multus.NetworkName, m.Namespace))
		}
	}
	return out
}

// addressesOfInterface is how many addresses of one interface count. The guest agent of a VM
// reports as many as it likes.
const addressesOfInterface = 64

// vmAddresses returns the IPv4 addresses of o's VMs on networks, as KubeVirt reports
// them, at most addressesOfInterface for each interface. Interfaces that only the guest
// agent reports are ignored, because they belong to no network of the VM.
func vmAddresses(o Objects) []network.VMAddress {
	seen := map[network.VMAddress]bool{}
	for _, m := range o.VMs {
		on := map[string]string{}
		for _, n := range m.Spec.Networks {
			if n.Multus != nil {
				on[n.Name] = nad.ParseName(n.Multus.NetworkName, m.Namespace).NetworkName()
			}
		}
		for _, i := range m.Status.Interfaces {
			name, known := on[i.Name]
			if !known {
				continue
			}
			for _, a := range append([]string{i.IP}, i.IPs[:min(len(i.IPs), addressesOfInterface)]...) {
				if a := parsed(a); a.Is4() {
					seen[network.VMAddress{VM: m.Name, Network: name, Address: a, MAC: strings.ToLower(i.MAC)}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b network.VMAddress) int {
		return cmp.Or(strings.Compare(a.VM, b.VM), strings.Compare(a.Network, b.Network), a.Address.Compare(b.Address), strings.Compare(a.MAC, b.MAC))
	})
}

// VMWithMAC returns the name of the VM of o that has an interface with this MAC, as KubeVirt
// reports it. Empty: none has.
func VMWithMAC(o Objects, mac string) string {
	for _, m := range o.VMs {
		on := map[string]bool{}
		for _, n := range m.Spec.Networks {
			on[n.Name] = true
		}
		for _, i := range m.Status.Interfaces {
			if on[i.Name] && mac != "" && strings.EqualFold(i.MAC, mac) {
				return m.Name
			}
		}
	}
	return ""
}
