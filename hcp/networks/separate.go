// This file finds hosted clusters whose nodes boot from different networks. Edges route nothing between networks.

package networks

import (
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// podNetwork is the network of VMs that have the default pod network.
const podNetwork = "the pod network"

// separate returns a problem if nodes boot from different networks: from several of requested, from these and the pod
// network, or from these and a network of last, the plan in force, until no VM boots from it. The problem is a hint if
// each of these has a gateway, which may route between them, and none is the pod network. NodePools without VMs do not count.
func separate(o indexed, requested []network.NetworkRequest, last network.Plan) problem.Problems {
	var from []network.Attachment
	var nodePools, names []string
	cause := problem.NodesBehindGateways
	add := func(a network.Attachment, pools []string, gateway bool) {
		nodePools = append(nodePools, pools...)
		if slices.ContainsFunc(from, a.SameNetwork) {
			return
		}
		from, names = append(from, a), append(names, a.String())
		if !gateway {
			cause = problem.NodesOnSeparateNetworks
		}
	}
	for _, s := range requested {
		if s.Primary && s.VMs > 0 {
			add(s.Attachment, s.NodePools, s.Gateway.IsValid())
		}
	}
	booted := BootedFrom(o.Objects, last)
	for _, n := range last.Networks {
		if n.Primary && slices.Contains(booted, n.Name) && !slices.ContainsFunc(from, n.Attachment.SameNetwork) {
			add(n.Attachment, n.NodePools, n.DHCP.Router != n.NextHopVIP)
		}
	}
	onPodNetwork := false
	for _, np := range o.NodePools {
		if attachesDefault(np) && size(o.HostedCluster, np) > 0 {
			nodePools, onPodNetwork = append(nodePools, np.Name), true
		}
	}
	if onPodNetwork { // Pods there have addresses that no router outside knows, and leave with the address of their node.
		cause, names = problem.NodesOnSeparateNetworks, append(names, podNetwork)
	}
	if len(from) == 0 || len(names) < 2 {
		return nil
	}
	slices.Sort(nodePools)
	return problem.Problems{problem.New(cause, problem.Subject{}, problem.Args{"nodePools": slices.Compact(nodePools), "networks": names}, network.KeyGateway)}
}
