// This file decides which ways of publishing are refused because HyperShift does
// not carry them out, or machines could not dial them: all that spec.services
// alone tells, since it can't be changed once the cluster is there.

package hcp

import (
	"fmt"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

func field(s hyperv1.ServiceType, rest string) string {
	return fmt.Sprintf("spec.services[%s].servicePublishingStrategy.%s", s, rest)
}

// illegal is a pair of service and strategy that HyperShift accepts in a
// HostedCluster and then does not carry out.
func illegal(p published, s hyperv1.ServicePublishingStrategy) *network.Problem {
	problem := network.Problem{Reason: network.PublishingUnsupported, Blocking: true}
	switch {
	case !slices.Contains(p.strategies, s.Type):
		problem.Field = field(p.service, "type")
		problem.Detail = fmt.Sprintf("%s: HyperShift does not publish %s by %s on KubeVirt. The strategy can't be changed later: create the cluster with one of %v.", problem.Field, p.service, s.Type, p.strategies)
	case s.Type == hyperv1.NodePort && (s.NodePort == nil || s.NodePort.Address == ""):
		problem.Field = field(p.service, "nodePort.address")
		problem.Detail = fmt.Sprintf("%s is empty: %s is published by NodePort without an address, so machines have nothing to dial. Create the cluster with an address.", problem.Field, p.service)
	case s.Type == hyperv1.NodePort && s.NodePort.Address == "localhost":
		problem.Field = field(p.service, "nodePort.address")
		problem.Detail = fmt.Sprintf("%s is localhost: each machine would look for %s on itself. Create the cluster with an address or a DNS name.", problem.Field, p.service)
	case badHost(s) != "":
		problem.Field = field(p.service, badHost(s))
		problem.Detail = fmt.Sprintf("%s is not a name that machines could dial %s by: want a DNS name such as blue.example.com (for nodePort.address an IPv4 address will do). It can't be changed later: create the cluster with another.", problem.Field, p.service)
	case p.service == hyperv1.APIServer && s.Type == hyperv1.Route && (s.Route == nil || s.Route.Hostname == ""):
		problem.Field = field(p.service, "route.hostname")
		problem.Detail = problem.Field + " is empty: HyperShift refuses to publish the API server by a Route without a host name. Create the cluster with one; where its command line has no flag for it, edit what --render writes."
	default:
		return nil
	}
	return &problem
}

// badHost is the field of s whose value is no host, or "".
func badHost(s hyperv1.ServicePublishingStrategy) string {
	isName := func(host string) bool {
		name, err := settings.DomainName(host)
		last := name[strings.LastIndexByte(name, '.')+1:]
		return err == nil && strings.Trim(last, "0123456789") != ""
	}
	switch {
	case s.Type == hyperv1.NodePort && !isName(s.NodePort.Address) && !parsed(s.NodePort.Address).IsValid():
		return "nodePort.address"
	case s.Type == hyperv1.Route && s.Route != nil && s.Route.Hostname != "" && !isName(s.Route.Hostname):
		return "route.hostname"
	case s.Type == hyperv1.LoadBalancer && s.LoadBalancer != nil && s.LoadBalancer.Hostname != "" && !isName(s.LoadBalancer.Hostname) && !parsed(s.LoadBalancer.Hostname).IsValid():
		return "loadBalancer.hostname"
	}
	return ""
}
