// This file reads which networks the VMs of a hosted cluster are attached to, and
// which addresses they have there.

package networks

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// vmAttachments returns the networks that o's VMs are attached to, with duplicates.
func vmAttachments(o objects.Objects) []network.Attachment {
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

// BootedFrom returns the names of the networks that o's VMs boot from: the first one of each VM
// that has no pod network before it.
func BootedFrom(o objects.Objects) []string {
	var out []network.Attachment
	for _, m := range o.VMs {
		if all := m.Spec.Networks; len(all) > 0 && all[0].Multus != nil {
			out = append(out, nad.ParseName(all[0].Multus.NetworkName, m.Namespace))
		}
	}
	return networkNames(out)
}

// addressesOfInterface is how many addresses of one interface count. The guest agent of a VM
// reports as many as it likes.
const addressesOfInterface = 64

// VMAddresses returns the IPv4 addresses of o's VMs on networks, as KubeVirt reports
// them, at most addressesOfInterface for each interface. Interfaces that only the guest
// agent reports are ignored, because they belong to no network of the VM.
func VMAddresses(o objects.Objects) []network.VMAddress {
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
				if a := services.Address(a); a.Is4() {
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
func VMWithMAC(o objects.Objects, mac string) string {
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
