// This file finds hosted clusters whose nodes boot from different networks. Edges route nothing between networks.

package networks

import (
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// podNetwork is the network of VMs that have the default pod network.
const podNetwork = "the pod network"

// separate returns a problem if nodes boot from different networks: from several of requested, or from these and the
// pod network. The problem is a hint if each network in requested has a gateway, which may route between them.
// NodePools without VMs do not count.
func separate(o indexed, requested []network.NetworkRequest) problem.Problems {
	var from []network.NetworkRequest
	var nodePools, names []string
	for _, s := range requested {
		if !s.Primary || s.VMs == 0 {
			continue
		}
		nodePools = append(nodePools, s.NodePools...)
		if !slices.ContainsFunc(from, func(x network.NetworkRequest) bool { return x.Attachment.SameNetwork(s.Attachment) }) {
			from, names = append(from, s), append(names, s.Attachment.String())
		}
	}
	onPodNetwork := false
	for _, np := range o.NodePools {
		if attachesDefault(np) && size(o.HostedCluster, np) > 0 {
			nodePools, onPodNetwork = append(nodePools, np.Name), true
		}
	}
	if onPodNetwork {
		names = append(names, podNetwork)
	}
	if len(from) == 0 || len(names) < 2 {
		return nil
	}
	slices.Sort(nodePools)
	cause := problem.NodesBehindGateways
	if slices.ContainsFunc(from, func(s network.NetworkRequest) bool { return !s.Gateway.IsValid() }) {
		cause = problem.NodesOnSeparateNetworks
	}
	return problem.Problems{problem.New(cause, problem.Subject{}, problem.Args{"nodePools": slices.Compact(nodePools), "networks": names}, network.KeyGateway)}
}
