// This file decides which address or backend *.apps of the hosted cluster resolves
// to. The ingress of the hosted cluster runs on the VMs. The first match wins:
//
//	annotation apps-address, or a record in dns-records   that address
//	spec.platform.kubevirt.baseDomainPassthrough          the VMs, at the node port of HyperShift's passthrough Service
//	guest ingress of type HostNetwork                     the VMs, at that port
//	otherwise                                             a problem
//
// A cluster without the ingress capability has no *.apps and no problem.

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

// passthroughService is the name prefix of the Service that HyperShift creates for
// base domain passthrough. The cluster's generateID follows. HyperShift writes the
// VMs' addresses to its EndpointSlices.
const passthroughService = "default-ingress-passthrough-service-"

// apps returns the record of *.apps if the user set its address, or the endpoint of
// the ingress.
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
	switch b, found := passthroughBackend(o); {
	case s.AppsAddress.IsValid():
		r.apps = network.Record{Name: name, Addresses: []netip.Addr{s.AppsAddress}}
	case slices.ContainsFunc(s.Records, func(r network.Record) bool { return strings.EqualFold(r.Name, name) }):
	case passthrough && found:
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

// passthroughBackend returns the VMs behind the passthrough Service, at the port of
// its EndpointSlices. ok is false if the Service does not exist yet.
func passthroughBackend(o Objects) (b network.Backend, ok bool) {
	k := o.HostedCluster.Spec.Platform.Kubevirt
	if k == nil || k.GenerateID == "" {
		return network.Backend{}, false
	}
	svc, ok := service(o, passthroughService+k.GenerateID)
	if !ok || len(svc.Spec.Ports) == 0 {
		return network.Backend{}, false
	}
	b = backendAt(svc, svc.Spec.Ports[0])
	b.Kind, b.ClusterIP = network.BackendVMs, netip.Addr{}
	return b, true
}

// GuestIngress returns how the hosted cluster publishes its ingress. It reads
// spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy of a
// HostedCluster in JSON, because the imported HyperShift API lacks the field.
// It returns nil if the field is not set or hostedCluster is not valid JSON.
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

// nodesPort returns the HTTPS port of a guest ingress of type HostNetwork. ok is
// false for all other types.
func nodesPort(s *operatorv1.EndpointPublishingStrategy) (port uint16, ok bool) {
	if s == nil || s.Type != operatorv1.HostNetworkStrategyType {
		return 0, false
	}
	if s.HostNetwork == nil {
		return 443, true
	}
	return uint16(cmp.Or(s.HostNetwork.HTTPSPort, 443)), true
}

// disabled returns the disabled capabilities of the cluster.
func disabled(hc *hyperv1.HostedCluster) []hyperv1.OptionalCapability {
	if hc.Spec.Capabilities == nil {
		return nil
	}
	return hc.Spec.Capabilities.Disabled
}
