// This file finds networks that VMs are on and whose addresses are unknown, such as a storage network with a DHCP
// server of its own. VMs may reach any address there.

package networks

import (
	"slices"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
)

// withUnserved returns a copy of networks with UnservedNetworks set. It is true if each NodePool of the network also
// has another network that is not requested or has no CIDR.
func withUnserved(o indexed, networks []network.NetworkRequest) []network.NetworkRequest {
	known := map[string]bool{}
	for _, s := range networks {
		known[s.Attachment.NetworkName()] = s.CIDR.IsValid()
	}
	out := slices.Clone(networks)
	for i, s := range out {
		elsewhere := func(a network.Attachment) bool {
			return a.NetworkName() != s.Attachment.NetworkName() && !known[a.NetworkName()]
		}
		only := func(name string) bool {
			np := o.byName[name]
			return np == nil || !slices.ContainsFunc(objects.Attachments(o.HostedCluster, *np), elsewhere)
		}
		out[i].UnservedNetworks = len(s.NodePools) > 0 && !slices.ContainsFunc(s.NodePools, only)
	}
	return out
}
