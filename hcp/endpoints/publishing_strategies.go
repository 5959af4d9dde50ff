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

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// unsupportedStrategy returns a problem if HyperShift does not implement strategy s for p. It also returns one if s
// lacks a host, or has a host that VMs cannot reach. HyperShift itself accepts s.
func unsupportedStrategy(p network.PublishedService, s hyperv1.ServicePublishingStrategy) *problem.Problem {
	refused := func(c problem.Cause, rest string, args problem.Args) *problem.Problem {
		path := fmt.Sprintf("spec.services[%s].servicePublishingStrategy.%s", p.Type, rest)
		all := problem.Args{"field": {path}}
		if c != problem.APIRouteHostMissing {
			all["service"] = []string{p.Type}
		}
		maps.Copy(all, args)
		return newProblem(c, endpoint(p.Endpoint), all, path)
	}
	switch supported := strategiesOf(p); {
	case !slices.Contains(supported, s.Type):
		return refused(problem.StrategyUnsupported, "type", problem.Args{"strategy": {string(s.Type)}, "strategies": strategyNames(supported)})
	case s.Type == hyperv1.NodePort && (s.NodePort == nil || s.NodePort.Address == ""):
		return refused(problem.NodePortAddressMissing, "nodePort.address", nil)
	case s.Type == hyperv1.NodePort && s.NodePort.Address == "localhost":
		return refused(problem.NodePortAddressIsLocalhost, "nodePort.address", nil)
	case invalidHost(s) != "":
		return refused(problem.PublishedHostInvalid, invalidHost(s), nil)
	case p.Service == network.APIService && s.Type == hyperv1.Route && (s.Route == nil || s.Route.Hostname == ""):
		return refused(problem.APIRouteHostMissing, "route.hostname", nil)
	}
	return nil
}

// strategiesOf returns the strategies that HyperShift implements for p on KubeVirt.
func strategiesOf(p network.PublishedService) []hyperv1.PublishingStrategyType {
	all := []hyperv1.PublishingStrategyType{hyperv1.LoadBalancer, hyperv1.NodePort, hyperv1.Route}
	if p.Service == network.APIService || p.Service == network.KonnectivityService {
		return all
	}
	return all[1:]
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
	for _, p := range objects.PublishedServices(hc) {
		s := strategyOf(hc, hyperv1.ServiceType(p.Type))
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
