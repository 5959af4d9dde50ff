// This file holds the last steps of Derive: what all networks get, those that are retained among them, and the limit of
// a plan, which a ConfigMap stores.

package derive

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// reserve is p with what each network never dials, and the exceptions that it may dial. Retained
// networks get the present state, too.
func reserve(p network.Plan, reserved []network.ReservedDestination, permitted []netip.Prefix) network.Plan {
	return p.WithEach(func(n *network.Network) {
		n.ReservedDestinations, n.PermittedDestinations = nil, nil
		if dialsForVMs(*n) {
			n.ReservedDestinations, n.PermittedDestinations = prefixes(reserved), network.MergedPrefixes(permitted)
		}
	})
}

// dialsForVMs reports whether VMs or the user choose an address that edges of n dial.
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

// logConnections is p with the AccessLog that r asks for on each network that runs the proxy. Retained
// networks are among them.
func logConnections(p network.Plan, r network.Request) network.Plan {
	return p.WithEach(func(n *network.Network) {
		n.AccessLog = ""
		if n.Runs(network.ServiceProxy) {
			n.AccessLog = r.AccessLog
		}
	})
}

// serveMetrics is p with the port of metrics on each network. Retained networks are among them.
func serveMetrics(p network.Plan) network.Plan {
	return p.WithEach(func(n *network.Network) { n.MetricsPort = network.MetricsPort })
}

// maxPlan in bytes keeps room below what a ConfigMap may have (1 MiB).
const maxPlan = 900 << 10

// tooLarge returns a problem if p does not fit into a ConfigMap.
func tooLarge(p network.Plan) problem.Problems {
	size := len(p.JSON())
	if size <= maxPlan {
		return nil
	}
	return problem.Problems{problem.New(problem.PlanTooLarge, problem.Subject{Kind: "ConfigMap"},
		problem.Args{"size": {strconv.Itoa(size >> 10)}, "most": {strconv.Itoa(maxPlan >> 10)}}, network.KeyRecords, network.KeyReservations, network.KeyPublish)}
}
