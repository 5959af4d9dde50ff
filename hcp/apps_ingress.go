// This file decides who answers for the applications of the hosted cluster
// (*.apps), whose ingress runs on the machines themselves:
//
//	where the user said an address, or a record        that address
//	spec.platform.kubevirt.baseDomainPassthrough       the machines, at the node port of HyperShift's passthrough Service
//	guest ingress on its nodes' own ports              the machines, at that port
//	else                                               nobody, and that is said
//
// Nothing is said where the cluster has no ingress.

package hcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// passthroughService is the Service that HyperShift makes beside the control
// plane for base domain passthrough, and whose EndpointSlices it keeps at the
// machines' addresses; the cluster's generateID follows.
const passthroughService = "default-ingress-passthrough-service-"

// apps is the record of the ingress where the user said its address, and else the
// endpoint that leads to it.
func apps(o Objects, in network.Request, s settings.Values) reachable {
	var r reachable
	hc := o.HostedCluster
	if !hasPrimary(in) || slices.Contains(disabled(hc), hyperv1.IngressCapability) {
		return r
	}
	e := network.Endpoint{Name: "apps", Origin: network.OriginApps, Port: 443, Match: network.MatchServerName}
	k := hc.Spec.Platform.Kubevirt
	passthrough := k != nil && k.BaseDomainPassthrough != nil && *k.BaseDomainPassthrough
	domain := appsDomain(hc)
	switch {
	case domain == "" && passthrough:
		r.add(e, problem(network.BaseDomainPending, endpoint(e.Name), network.Args{"object": "spec.dns.baseDomain"}))
		return r
	case domain == "":
		return r
	}
	name := "*." + domain
	e.Hosts = []string{name}
	port, onNodes := nodesPort(o.GuestIngress)
	switch b, there := passthroughBackend(o); {
	case s.AppsAddress.IsValid():
		r.apps = network.Record{Name: name, Addresses: []netip.Addr{s.AppsAddress}}
	case slices.ContainsFunc(s.Records, func(r network.Record) bool { return strings.EqualFold(r.Name, name) }):
	case passthrough && there:
		e.Backend = b
		r.add(e, nil)
	case onNodes:
		e.Backend = network.Backend{Kind: network.BackendVMs, Name: fmt.Sprintf("machines:%d", port), Port: port}
		r.add(e, nil)
	case passthrough:
		r.add(e, problem(network.IngressServicePending, endpoint(e.Name), network.Args{"name": name, "object": "Service " + passthroughService + k.GenerateID}))
	default:
		r.add(e, problem(network.IngressAddressMissing, endpoint(e.Name), network.Args{"name": name}, settings.KeyAppsAddress))
	}
	return r
}

// passthroughBackend are the machines behind the passthrough Service, at the
// port that its EndpointSlices say.
func passthroughBackend(o Objects) (network.Backend, bool) {
	k := o.HostedCluster.Spec.Platform.Kubevirt
	if k == nil || k.GenerateID == "" {
		return network.Backend{}, false
	}
	svc, ok := service(o, passthroughService+k.GenerateID)
	if !ok || len(svc.Spec.Ports) == 0 {
		return network.Backend{}, false
	}
	b := backendAt(svc, svc.Spec.Ports[0])
	b.Kind, b.ClusterIP = network.BackendVMs, netip.Addr{}
	return b, true
}

// GuestIngress is spec.operatorConfiguration.ingressOperator's
// endpointPublishingStrategy of a HostedCluster as JSON: how the guest's own
// ingress is published. The types of HyperShift's API that this package is built
// with don't have the field yet, so it is read from the object's text. Nil where
// it is not set.
func GuestIngress(hostedCluster []byte) *operatorv1.EndpointPublishingStrategy {
	var hc struct {
		Spec struct {
			OperatorConfiguration struct {
				IngressOperator struct {
					EndpointPublishingStrategy *operatorv1.EndpointPublishingStrategy `json:"endpointPublishingStrategy"`
				} `json:"ingressOperator"`
			} `json:"operatorConfiguration"`
		} `json:"spec"`
	}
	if json.Unmarshal(hostedCluster, &hc) != nil {
		return nil
	}
	return hc.Spec.OperatorConfiguration.IngressOperator.EndpointPublishingStrategy
}

// nodesPort is where the guest's ingress listens on its nodes' own addresses.
func nodesPort(s *operatorv1.EndpointPublishingStrategy) (uint16, bool) {
	if s == nil || s.Type != operatorv1.HostNetworkStrategyType {
		return 0, false
	}
	if s.HostNetwork == nil {
		return 443, true
	}
	return uint16(cmp.Or(s.HostNetwork.HTTPSPort, 443)), true
}

// disabled are the capabilities that the cluster does without.
func disabled(hc *hyperv1.HostedCluster) []hyperv1.OptionalCapability {
	if hc.Spec.Capabilities == nil {
		return nil
	}
	return hc.Spec.Capabilities.Disabled
}
