// This file reads which networks the VMs of a hosted cluster are attached to, and their addresses there.

package networks

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
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

// stillOn returns the networks of last, the plan in force, that VMs of o may be on although their specs name others.
// KubeVirt 1.8 changes the spec of a running VM (feature gate LiveUpdateNADRef), and the VM moves to the new network
// when it migrates. Until then, a condition of the VM reports the change. KubeVirt sets the condition a moment after
// the spec. Meanwhile the VM has an address in a network of last, and not in the one that the spec names.
func stillOn(o objects.Objects, last network.Plan) []network.Attachment {
	cidrs, on := map[string]netip.Prefix{}, map[string]bool{}
	for _, n := range last.Networks {
		cidrs[n.Name] = n.CIDR
	}
	for _, m := range o.VMs {
		named := byInterface(m)
		for _, n := range last.Networks {
			on[n.Name] = on[n.Name] || m.HasOtherNetworks() || slices.ContainsFunc(m.Status.Interfaces, func(i lenient.VMInterface) bool {
				cidr, known := cidrs[named[i.Name].NetworkName()]
				a := services.Address(i.IP)
				return known && n.CIDR.Contains(a) && !cidr.Contains(a)
			})
		}
	}
	return slices.DeleteFunc(last.Attachments(), func(a network.Attachment) bool { return !on[a.NetworkName()] })
}

// vmBoots returns the networks that o's VMs boot from, with duplicates.
func vmBoots(o objects.Objects) []network.Attachment {
	var out []network.Attachment
	for _, m := range o.VMs {
		if a, ok := BootsFrom(m); ok {
			out = append(out, a)
		}
	}
	return out
}

// BootsFrom returns the first network of m. ok is false for the pod network.
func BootsFrom(m lenient.VirtualMachineInstance) (a network.Attachment, ok bool) {
	if all := m.Spec.Networks; len(all) > 0 && all[0].Multus != nil {
		return nad.ParseName(all[0].Multus.NetworkName, m.Namespace), true
	}
	return network.Attachment{}, false
}

// byInterface returns the networks of m by the names of its interfaces, without the pod network.
func byInterface(m lenient.VirtualMachineInstance) map[string]network.Attachment {
	out := map[string]network.Attachment{}
	for _, n := range m.Spec.Networks {
		if n.Multus != nil {
			out[n.Name] = nad.ParseName(n.Multus.NetworkName, m.Namespace)
		}
	}
	return out
}

// Unnamed returns a problem if VMs boot from networks that no NodePool of o names, and that are not in known. An
// annotation of HyperShift can change the networks of a NodePool's VMs. If o has no VMs yet, Unnamed returns a hint
// about annotations of this kind.
func Unnamed(o objects.Objects, known []network.Attachment) problem.Problems {
	if len(o.VMs) == 0 {
		return networksPatched(o)
	}
	known = slices.Concat(known, objects.NamedNADs(o))
	var nads, vms []string
	for _, a := range Attached(o) {
		same := func(k network.Attachment) bool { return k.NetworkName() == a.NetworkName() || k.SameNetwork(a) }
		if slices.ContainsFunc(known, same) {
			continue
		}
		for _, m := range o.VMs {
			if from, ok := BootsFrom(m); ok && from.NetworkName() == a.NetworkName() {
				nads, vms = append(nads, a.String()), append(vms, m.Name)
			}
		}
	}
	if len(vms) == 0 {
		return nil
	}
	slices.Sort(vms)
	return problem.Problems{problem.New(problem.VMNetworkUnserved, problem.Subject{}, problem.Args{"nads": slices.Compact(nads), "vms": vms[:min(len(vms), 10)]})}
}

// SharedMACs returns a problem for each MAC that two VMs of o have on one network. If there is none, it returns problems
// of patches that give one MAC to several VMs.
func SharedMACs(o objects.Objects) problem.Problems {
	type place struct{ network, mac string }
	vms := map[place][]string{}
	for _, m := range o.VMs {
		on := byInterface(m)
		for _, i := range m.Status.Interfaces {
			a, known := on[i.Name]
			p := place{a.String(), strings.ToLower(i.MAC)}
			if known && p.mac != "" && !slices.Contains(vms[p], m.Name) {
				vms[p] = append(vms[p], m.Name)
			}
		}
	}
	var ps problem.Problems
	for _, p := range slices.SortedFunc(maps.Keys(vms), func(a, b place) int {
		return cmp.Or(strings.Compare(a.network, b.network), strings.Compare(a.mac, b.mac))
	}) {
		if names := vms[p]; len(names) > 1 {
			slices.Sort(names)
			ps = append(ps, problem.New(problem.MACShared, problem.Subject{}, problem.Args{"mac": {p.mac}, "nad": {p.network}, "vms": names[:min(len(names), 10)]}))
		}
	}
	if len(ps) == 0 {
		return macsPatched(o)
	}
	return ps
}

// VMAddresses returns the IPv4 addresses of o's VMs on networks, as KubeVirt reports them. Interfaces that only the guest
// agent reports belong to no network of the VM.
func VMAddresses(o objects.Objects) []network.VMAddress {
	seen := map[network.VMAddress]bool{}
	for _, m := range o.VMs {
		networks := byInterface(m)
		for _, i := range m.Status.Interfaces {
			on, known := networks[i.Name]
			if !known {
				continue
			}
			for _, a := range append([]string{i.IP}, i.IPs...) {
				if a := services.Address(a); a.Is4() {
					seen[network.VMAddress{VM: m.Name, Network: on.NetworkName(), Address: a, MAC: strings.ToLower(i.MAC)}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b network.VMAddress) int {
		return cmp.Or(strings.Compare(a.VM, b.VM), strings.Compare(a.Network, b.Network), a.Address.Compare(b.Address), strings.Compare(a.MAC, b.MAC))
	})
}

// VMWithMAC returns the VM of o that has an interface with this MAC, as KubeVirt reports it. It returns "" if there is none.
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
