// This file reads from a HostedCluster how HyperShift publishes the ingress, and below which domain.

package ingress

import (
	"cmp"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
)

// Name returns the wildcard name of the ingress. It is empty if hc has no ingress, or if the domain of the ingress
// is not known yet.
func Name(hc *hyperv1.HostedCluster) string {
	domain := Domain(hc)
	if domain == "" || !objects.Enabled(hc, hyperv1.IngressCapability) {
		return ""
	}
	return "*." + domain
}

// Domain returns the ingress domain, as HyperShift's globalconfig.IngressDomain does. It is empty while the base domain is unknown.
func Domain(hc *hyperv1.HostedCluster) string {
	domain := objects.Domain(hc)
	if domain != "" {
		domain = "apps." + domain
	}
	return cmp.Or(configured(hc), domain)
}

// configured returns the domain of the ingress in spec.configuration, or "".
func configured(hc *hyperv1.HostedCluster) string {
	c := hc.Spec.Configuration
	if c == nil || c.Ingress == nil {
		return ""
	}
	return cmp.Or(c.Ingress.AppsDomain, c.Ingress.Domain)
}

// Strategy returns how the ingress is published, by the rules of HyperShift's ReconcileDefaultIngressController: the
// field since release 4.21, then the annotation for a private ingress, then the default on KubeVirt. It never changes
// an ingress, so the release with which the cluster was created counts.
func Strategy(o objects.Objects) operatorv1.EndpointPublishingStrategy {
	first, _ := objects.Releases(o.HostedCluster)
	switch {
	case o.HostedIngress != nil && o.HostedIngress.Type != "" && !first.Before(21):
		return *o.HostedIngress
	case o.HostedCluster.Annotations[hyperv1.PrivateIngressControllerAnnotation] == "true":
		return operatorv1.EndpointPublishingStrategy{Type: operatorv1.PrivateStrategyType}
	}
	return operatorv1.EndpointPublishingStrategy{Type: operatorv1.NodePortServiceStrategyType}
}

// StrategySource returns the field or the annotation that decides Strategy.
func StrategySource(o objects.Objects) string {
	if _, ignored := TypeIgnored(o); ignored || o.HostedIngress == nil || o.HostedIngress.Type == "" {
		return "annotation " + hyperv1.PrivateIngressControllerAnnotation
	}
	return "spec.operatorConfiguration.ingressOperator"
}

// TypeIgnored returns the release that ignores the type which the user sets. ignored is false if Strategy has that type.
func TypeIgnored(o objects.Objects) (by objects.Release, ignored bool) {
	by, _ = objects.Releases(o.HostedCluster)
	return by, o.HostedIngress != nil && o.HostedIngress.Type != "" && o.HostedIngress.Type != Strategy(o).Type
}

// SpeaksPROXY reports whether the router expects a PROXY protocol header, which edges do not send.
func SpeaksPROXY(s operatorv1.EndpointPublishingStrategy) bool {
	return s.Type == operatorv1.HostNetworkStrategyType && s.HostNetwork != nil && s.HostNetwork.Protocol == operatorv1.ProxyProtocol ||
		s.Type == operatorv1.NodePortServiceStrategyType && s.NodePort != nil && s.NodePort.Protocol == operatorv1.ProxyProtocol
}

// PassesThrough reports whether hc uses base domain passthrough: its names are below a domain of the management
// cluster, whose router forwards connections to hc's ingress. HyperShift's webhook, if it is installed, sets the field
// of a new object without a base domain.
func PassesThrough(hc *hyperv1.HostedCluster) bool {
	if k := hc.Spec.Platform.Kubevirt; k != nil && k.BaseDomainPassthrough != nil {
		return *k.BaseDomainPassthrough
	}
	return hc.Spec.DNS.BaseDomain == "" && hc.CreationTimestamp.IsZero()
}

// ManagementDomain returns the ingress domain of the management cluster if Routes show that the domain of the hosted
// cluster is that domain or below it, else "". chosen is true if HyperShift chose the base domain, for base domain
// passthrough.
func ManagementDomain(o objects.Objects) (domain string, chosen bool) {
	own := objects.Domain(o.HostedCluster)
	for _, r := range o.Routes {
		above, generated := GeneratedBelow(r)
		within := strings.EqualFold(own, above) || network.MatchesHost(strings.ToLower("*."+above), strings.ToLower(own))
		if generated && within && len(above) > len(domain) {
			domain = strings.ToLower(above)
		}
	}
	return domain, PassesThrough(o.HostedCluster) && domain != "" && strings.EqualFold(domain, o.HostedCluster.Spec.DNS.BaseDomain)
}

// GeneratedBelow returns the ingress domain of the management cluster if OpenShift generated the host of r, which is
// "name-namespace.domain". Otherwise, generated is false.
func GeneratedBelow(r routev1.Route) (domain string, generated bool) {
	return strings.CutPrefix(r.Spec.Host, r.Name+"-"+r.Namespace+".")
}

// Refused reports whether host is behind the ingress of the management cluster, and edges dial no virtual IP of it. Its
// domain follows from the name of that cluster's API server, and from hosts of Routes that OpenShift generated.
func Refused(o objects.Objects, host string) bool {
	below := func(domain string) bool { return domain != "" && network.MatchesHost("*."+domain, host) }
	ofAddress := func(r network.ReservedDestination) bool { return below(r.Domain) }
	ofRoute := func(r routev1.Route) bool { domain, generated := GeneratedBelow(r); return generated && below(domain) }
	return len(RefusedAddresses(o)) > 0 && (slices.ContainsFunc(o.Management.Networks, ofAddress) || slices.ContainsFunc(o.Routes, ofRoute))
}

// RefusedAddresses returns the virtual IPs of the management cluster's ingress that edges do not dial, sorted.
func RefusedAddresses(o objects.Objects) (addresses []string) {
	for _, r := range o.Management.Networks {
		if a := r.Prefix.Addr(); r.OfIngress && a.Is4() && !network.AnyContains(o.Permissions.Destinations, a) {
			addresses = append(addresses, a.String())
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// passthroughRoute is the name prefix of HyperShift's Route for base domain passthrough. The cluster's generateID follows.
const passthroughRoute = "default-ingress-passthrough-route-"

// RouteRefused returns the name of HyperShift's Route for base domain passthrough if a router refuses it, and none
// admits it. A router of OpenShift refuses Routes with a wildcard by default.
func RouteRefused(o objects.Objects) (name string, refused bool) {
	k := o.HostedCluster.Spec.Platform.Kubevirt
	for _, r := range o.Routes {
		if k == nil || r.Name != passthroughRoute+k.GenerateID {
			continue
		}
		name = r.Name
		for _, i := range r.Status.Ingress {
			for _, c := range i.Conditions {
				if c.Type == routev1.RouteAdmitted && c.Status == corev1.ConditionTrue {
					return name, false
				}
				refused = refused || c.Type == routev1.RouteAdmitted && c.Status == corev1.ConditionFalse
			}
		}
	}
	return name, refused
}

// PassthroughIneffective returns the field of o with which base domain passthrough has no effect, or "" if there is none.
// The Route is for the default domain of the ingress, and its Service has a node port of the ingress
// (hostedclusterconfigoperator/controllers/resources/ingress/reconcile.go).
func PassthroughIneffective(o objects.Objects) string {
	hc, set := o.HostedCluster, configured(o.HostedCluster)
	switch dns := hc.Spec.DNS; {
	case !PassesThrough(hc):
		return ""
	case set != "" && dns.BaseDomain != "" && set != "apps."+hc.Name+"."+dns.BaseDomain:
		return "spec.configuration.ingress"
	case set == "" && dns.BaseDomainPrefix != nil && *dns.BaseDomainPrefix != hc.Name:
		return "spec.dns.baseDomainPrefix"
	case Strategy(o).Type != operatorv1.NodePortServiceStrategyType && !HasPassthrough(o):
		return StrategySource(o)
	}
	return ""
}
