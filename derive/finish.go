// This file holds the last steps of Derive, which apply to all networks, including retained ones.

package derive

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// reserve sets the destinations that edges of each network never dial, and the permitted exceptions.
func reserve(p network.Plan, reserved []network.ReservedDestination, permitted []netip.Prefix) network.Plan {
	return p.WithEach(func(n *network.Network) {
		n.ReservedDestinations, n.PermittedDestinations = nil, nil
		if dialsForVMs(*n) {
			n.ReservedDestinations, n.PermittedDestinations = prefixes(reserved), network.MergedPrefixes(permitted)
		}
	})
}

// dialsForVMs reports whether edges of n dial addresses that VMs or the user choose.
func dialsForVMs(n network.Network) bool {
	external := func(b network.Backend) bool { return b.Kind == network.BackendExternal }
	return slices.ContainsFunc(n.Backends, external) || n.DNS.Upstreams.Mode == network.UpstreamServers
}

func prefixes(reserved []network.ReservedDestination) []netip.Prefix {
	var out []netip.Prefix
	for _, r := range reserved {
		out = append(out, r.Prefix)
	}
	return network.MergedPrefixes(out)
}

func logConnections(p network.Plan, r network.Request) network.Plan {
	return p.WithEach(func(n *network.Network) {
		n.AccessLog = ""
		if n.Runs(network.ServiceProxy) {
			n.AccessLog = r.AccessLog
		}
	})
}

func serveMetrics(p network.Plan) network.Plan {
	return p.WithEach(func(n *network.Network) { n.MetricsPort = network.MetricsPort })
}

// maxPlan is the largest size of a plan in bytes. A ConfigMap holds 1 MiB, and its other fields need room, too.
const maxPlan = 900 << 10

func tooLarge(p network.Plan) problem.Problems {
	size := len(p.JSON())
	if size <= maxPlan {
		return nil
	}
	return problem.Problems{problem.New(problem.PlanTooLarge, problem.Subject{Kind: "ConfigMap"},
		problem.Args{"size": {strconv.Itoa(size >> 10)}, "most": {strconv.Itoa(maxPlan >> 10)}}, network.KeyRecords, network.KeyReservations, network.KeyPublish)}
}
