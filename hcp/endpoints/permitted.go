// This file compares what a HostedCluster asks for with what the administrator of the
// management cluster permits.

package endpoints

import (
	"maps"
	"slices"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// permittedHosts returns the hosts that the administrator permits. The problems are about
// those of the annotation allowed-hosts, cannot has the registries.
func permittedHosts(o objects.Objects, s settings.Values, hosts []settings.HostPort) (permitted []settings.HostPort, cannot []unreachable, problems problem.Problems) {
	named := map[problem.Cause][]string{}
	for _, h := range hosts {
		byUser := s.AllowedHosts != nil && slices.Contains(s.AllowedHosts.Hosts, h)
		at := h.String()
		switch host, port := o.Permissions.Host(h.Host), o.Permissions.Port(h.Port); {
		case host && port:
			permitted = append(permitted, h)
		case byUser && host:
			named[problem.HostPortNotPermitted] = append(named[problem.HostPortNotPermitted], at)
		case byUser:
			named[problem.HostNotPermitted] = append(named[problem.HostNotPermitted], h.Host)
		case host:
			cannot = append(cannot, unreachable{at, problem.RegistryPortNotPermitted, h})
		default:
			cannot = append(cannot, unreachable{h.Host, problem.RegistryNotPermitted, h})
		}
	}
	for _, c := range slices.Sorted(maps.Keys(named)) {
		args := problem.Args{"hosts": slices.Compact(named[c])}
		problems = append(problems, problem.New(c, problem.Subject{}, args, network.KeyAllowedHosts))
	}
	return permitted, cannot, problems
}
