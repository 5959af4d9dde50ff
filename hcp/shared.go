// This file says who is on a segment already: other hosted clusters, and what
// they want there, and machines with their addresses. What follows from that is
// decided in network.

package hcp

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
)

// Attached are the segments that o's NodePools name or its machines are on, with
// what is known of their definitions, sorted. It does not matter whether o opted
// in.
func Attached(o Objects) []network.Attachment {
	seen := map[string]network.Attachment{}
	for _, a := range append(Definitions(o), ofMachines(o)...) {
		if known, _ := attachment(o, network.NetworkRequest{Attachment: a}); known.Name != "" {
			a = known
		}
		seen[a.String()] = a
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}

// ofMachines are the segments that o's machines are on.
func ofMachines(o Objects) []network.Attachment {
	var out []network.Attachment
	for _, m := range o.Machines {
		for _, n := range m.Spec.Networks {
			if n.Multus != nil {
				out = append(out, nad.Named(n.Multus.NetworkName, m.Namespace))
			}
		}
	}
	return out
}

// Other is what other is to o; ok is false where they have no segment in
// common. serves is the plan in force for other.
func Other(o, other Objects, serves network.Plan) (n network.OtherCluster, ok bool) {
	hc := other.HostedCluster
	n = network.OtherCluster{Name: hc.Namespace + "/" + hc.Name, Older: older(hc, o.HostedCluster), On: Attached(other), Serves: serves}
	for _, s := range serves.Networks {
		n.On = append(n.On, s.Attachment)
	}
	ours := Attached(o)
	if !slices.ContainsFunc(n.On, func(a network.Attachment) bool { return slices.ContainsFunc(ours, a.SameNetwork) }) {
		return n, false
	}
	if OptedIn(hc) && hc.DeletionTimestamp.IsZero() {
		request, facts := Translate(other)
		n.Wants, _ = network.Derive(request, facts, serves, nil).Plan()
	}
	return n, true
}

// older says whether a was created before b; of two of one second, the first by
// namespace and name.
func older(a, b *hyperv1.HostedCluster) bool {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c < 0
	}
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) < 0
}

// vmAddresses are the addresses that o's machines have on segments, as KubeVirt
// reports them. What only the guest's own agent names is not believed: it has no
// interface of the machine's.
func vmAddresses(o Objects) []network.VMAddress {
	var out []network.VMAddress
	for _, m := range o.Machines {
		on := map[string]string{}
		for _, n := range m.Spec.Networks {
			if n.Multus != nil {
				on[n.Name] = nad.Named(n.Multus.NetworkName, m.Namespace).NetworkName()
			}
		}
		for _, i := range m.Status.Interfaces {
			name, known := on[i.Name]
			for _, a := range append([]string{i.IP}, i.IPs...) {
				h := network.VMAddress{VM: m.Name, Network: name, Address: parsed(a)}
				if known && h.Address.Is4() && !slices.Contains(out, h) {
					out = append(out, h)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b network.VMAddress) int {
		return cmp.Or(strings.Compare(a.VM, b.VM), strings.Compare(a.Network, b.Network), a.Address.Compare(b.Address))
	})
	return out
}
