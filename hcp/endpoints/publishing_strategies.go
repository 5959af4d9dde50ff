// This file refuses publishing strategies that HyperShift does not implement or that VMs cannot reach. It reads only
// spec.services, which cannot be changed later. So problems are found before the cluster is created.

package endpoints

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

func field(s hyperv1.ServiceType, rest string) string {
	return fmt.Sprintf("spec.services[%s].servicePublishingStrategy.%s", s, rest)
}

// unsupportedStrategy returns the problem of strategy s for p, or nil. HyperShift accepts
// such a strategy in a HostedCluster, but does not implement it.
func unsupportedStrategy(p published, s hyperv1.ServicePublishingStrategy) *problem.Problem {
	refused := func(c problem.Cause, rest string, args problem.Args) *problem.Problem {
		path := field(p.service, rest)
		all := problem.Args{"field": {path}}
		if c != problem.APIRouteHostMissing {
			all["service"] = []string{string(p.service)}
		}
		maps.Copy(all, args)
		return newProblem(c, endpoint(p.route), all, path)
	}
	switch {
	case !slices.Contains(p.strategies, s.Type):
		return refused(problem.StrategyUnsupported, "type", problem.Args{"strategy": {string(s.Type)}, "strategies": strategyNames(p.strategies)})
	case s.Type == hyperv1.NodePort && (s.NodePort == nil || s.NodePort.Address == ""):
		return refused(problem.NodePortAddressMissing, "nodePort.address", nil)
	case s.Type == hyperv1.NodePort && s.NodePort.Address == "localhost":
		return refused(problem.NodePortAddressIsLocalhost, "nodePort.address", nil)
	case invalidHost(s) != "":
		return refused(problem.PublishedHostInvalid, invalidHost(s), nil)
	case p.service == hyperv1.APIServer && s.Type == hyperv1.Route && (s.Route == nil || s.Route.Hostname == ""):
		return refused(problem.APIRouteHostMissing, "route.hostname", nil)
	}
	return nil
}

func strategyNames(all []hyperv1.PublishingStrategyType) (names []string) {
	for _, s := range all {
		names = append(names, string(s))
	}
	return names
}

// invalidHost returns the path of an invalid host in s, or "".
func invalidHost(s hyperv1.ServicePublishingStrategy) string {
	isName := func(host string) bool {
		name, err := settings.DomainName(host)
		last := name[strings.LastIndexByte(name, '.')+1:]
		return err == nil && strings.Trim(last, "0123456789") != ""
	}
	switch {
	case s.Type == hyperv1.NodePort && !isName(s.NodePort.Address) && !services.Address(s.NodePort.Address).IsValid():
		return "nodePort.address"
	case s.Type == hyperv1.Route && s.Route != nil && s.Route.Hostname != "" && !isName(s.Route.Hostname):
		return "route.hostname"
	case s.Type == hyperv1.LoadBalancer && s.LoadBalancer != nil && s.LoadBalancer.Hostname != "" && !isName(s.LoadBalancer.Hostname) && !services.Address(s.LoadBalancer.Hostname).IsValid():
		return "loadBalancer.hostname"
	}
	return ""
}

// announcedAddresses returns the IPv4 addresses in spec.services at which HyperShift will publish services.
func announcedAddresses(hc *hyperv1.HostedCluster) []netip.Addr {
	var out []netip.Addr
	for _, p := range publishedServices(hc) {
		s := strategyOf(hc, p.service)
		if s.Type != hyperv1.NodePort || s.NodePort == nil {
			continue
		}
		if a := services.Address(s.NodePort.Address); a.Is4() {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
