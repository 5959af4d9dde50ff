// This file compares what a HostedCluster asks for with what the administrator of the
// management cluster permits.

package hcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// edgeNodesNotPermitted returns a problem if the annotation edge-node-selector has labels
// that are not permitted. It is an Error: edges elsewhere may not reach the network.
// HyperShift decides about the node selectors of NodePools, which place VMs, too.
func edgeNodesNotPermitted(o Objects, s settings.Values) network.Problems {
	labels := slices.DeleteFunc(slices.Sorted(maps.Keys(s.EdgeNodes)), o.Permissions.NodeLabel)
	if len(labels) == 0 {
		return nil
	}
	on := network.Subject{Kind: "HostedCluster", Name: o.HostedCluster.Name}
	return network.Problems{network.NewProblem(network.EdgeNodesNotPermitted, on,
		network.Args{"labels": strings.Join(labels, ", ")}, settings.KeyEdgeNodeSelector)}
}

// permittedHosts returns the hosts that the administrator permits. The problems are about
// those of the annotation allowed-hosts, cannot has the registries.
func permittedHosts(o Objects, s settings.Values, hosts []settings.HostPort) (permitted []settings.HostPort, cannot []unreachable, problems network.Problems) {
	named := map[network.Cause][]string{}
	for _, h := range hosts {
		byUser := s.AllowedHosts != nil && slices.Contains(s.AllowedHosts.Hosts, h)
		at := fmt.Sprintf("%s:%d", h.Host, h.Port)
		switch host, port := o.Permissions.Host(h.Host), o.Permissions.Port(h.Port); {
		case host && port:
			permitted = append(permitted, h)
		case byUser && host:
			named[network.HostPortNotPermitted] = append(named[network.HostPortNotPermitted], at)
		case byUser:
			named[network.HostNotPermitted] = append(named[network.HostNotPermitted], h.Host)
		case host:
			cannot = append(cannot, unreachable{at, network.RegistryPortNotPermitted})
		default:
			cannot = append(cannot, unreachable{h.Host, network.RegistryNotPermitted})
		}
	}
	for _, c := range slices.Sorted(maps.Keys(named)) {
		args := network.Args{"hosts": strings.Join(slices.Compact(named[c]), ", ")}
		problems = append(problems, network.NewProblem(c, network.Subject{}, args, settings.KeyAllowedHosts))
	}
	return permitted, cannot, problems
}

// recordProblems returns a problem for each record of the user that overrides the name of
// an endpoint, or that covers a top-level domain.
func recordProblems(records []network.Record, endpoints []network.Endpoint) network.Problems {
	var problems network.Problems
	for _, r := range records {
		published := func(e network.Endpoint) bool {
			return slices.ContainsFunc(e.Hosts, func(host string) bool { return strings.EqualFold(host, r.Name) })
		}
		below, wildcard := strings.CutPrefix(r.Name, "*.")
		args := network.Args{"name": r.Name, "addresses": network.AddressList(r.Addresses)}
		switch {
		case slices.ContainsFunc(endpoints, published):
			problems = append(problems, network.NewProblem(network.RecordOverridesEndpoint, network.Subject{}, args, settings.KeyDNSRecords))
		case wildcard && !strings.Contains(below, "."):
			problems = append(problems, network.NewProblem(network.RecordCoversTopLevelDomain, network.Subject{}, args, settings.KeyDNSRecords))
		}
	}
	return problems
}
