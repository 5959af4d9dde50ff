// Package objects holds the objects that are read about one hosted cluster, decoded leniently. It decides which of
// two objects is older, and which other objects they name.
package objects

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Objects holds all objects that are read about one hosted cluster.
type Objects struct {
	HostedCluster *hyperv1.HostedCluster
	// HostedIngress is how HostedCluster publishes its ingress. Nil: the field is not set.
	HostedIngress *operatorv1.EndpointPublishingStrategy
	// JoinSubnet is ovnKubernetesConfig.v4InternalSubnet of HostedCluster. Empty: the field is not set.
	JoinSubnet string
	// OVNMTU is ovnKubernetesConfig.mtu of HostedCluster in bytes. 0: the field is not set.
	OVNMTU int
	// OVNIPv6 are the IPv6 subnets of ovnKubernetesConfig of HostedCluster.
	OVNIPv6 lenient.OVNIPv6
	// AllocateNodeCIDRs is that of HostedCluster: Enabled, Disabled, or empty if the field is not set.
	AllocateNodeCIDRs string
	// NodePools of this cluster in any order, including those that are being deleted.
	NodePools []hyperv1.NodePool
	// NetworkAttachmentDefinitions that the NodePools name and that exist.
	NetworkAttachmentDefinitions []nadv1.NetworkAttachmentDefinition
	// Routes and Services are those of the control plane namespace.
	Routes   []routev1.Route
	Services []corev1.Service
	// Slices are the EndpointSlices of load balancers in that namespace. Empty if they were not read.
	Slices []services.Slice
	// Pods are the addresses of the pods behind Services of the control plane namespace. Empty if
	// they were not read.
	Pods []netip.Addr
	// VMs are the VirtualMachineInstances of the control plane namespace.
	VMs []lenient.VirtualMachineInstance
	// Nodes of the management cluster. Empty if they were not read.
	Nodes []corev1.Node
	// Management holds further facts about the management cluster.
	Management management.Cluster
	// Proxy is the HTTP proxy configuration of the management cluster.
	Proxy httpproxy.Config
	// Permissions are those of the management cluster's administrator.
	Permissions network.Permissions
	// Unreadable are problems of objects that cannot be decoded as a whole.
	Unreadable problem.Problems
	// Misnamed are problems of NodePools in files. Each names a hosted cluster that is missing there, and probably
	// means this one.
	Misnamed problem.Problems
	// NADCreators are the objects in files that create NADs.
	NADCreators nad.Creators
	// Devices are the objects in files that say which devices nodes have.
	Devices nad.DeviceObjects
	// Partial is true if the objects were read from files. Then a missing object might
	// exist in the cluster.
	Partial bool
}

// ControlPlaneNamespace returns the namespace of hc's control plane, as HyperShift's
// manifests.HostedControlPlaneNamespace does.
func ControlPlaneNamespace(hc *hyperv1.HostedCluster) string {
	return hc.Namespace + "-" + strings.ReplaceAll(hc.Name, ".", "-")
}

// UsesOVN reports whether the network plugin of hc is OVN-Kubernetes, the default.
func UsesOVN(hc *hyperv1.HostedCluster) bool {
	n := hc.Spec.Networking.NetworkType
	return n == hyperv1.OVNKubernetes || n == ""
}

// UsesOIDC reports whether OIDC providers replace the OAuth server of hc.
func UsesOIDC(hc *hyperv1.HostedCluster) bool {
	c := hc.Spec.Configuration
	return c != nil && c.Authentication != nil && c.Authentication.Type == configv1.AuthenticationTypeOIDC
}

// PublishedServices returns the services that HyperShift publishes for hc. With OIDC, there is no OAuth server.
func PublishedServices(hc *hyperv1.HostedCluster) []network.PublishedService {
	return slices.DeleteFunc(network.PublishedServices(), func(s network.PublishedService) bool { return s.Service == network.OAuthService && UsesOIDC(hc) })
}

// PodNetworks returns the networks of hc's pods. If none is set, it returns the API server's default.
func PodNetworks(hc *hyperv1.HostedCluster) []netip.Prefix {
	var cidrs []string
	for _, n := range hc.Spec.Networking.ClusterNetwork {
		cidrs = append(cidrs, n.CIDR.String())
	}
	return prefixes(cidrs, "10.132.0.0/14")
}

// ServiceNetworks returns the networks of hc's Services. If none is set, it returns the API server's default.
func ServiceNetworks(hc *hyperv1.HostedCluster) []netip.Prefix {
	var cidrs []string
	for _, n := range hc.Spec.Networking.ServiceNetwork {
		cidrs = append(cidrs, n.CIDR.String())
	}
	return prefixes(cidrs, "172.31.0.0/16")
}

// PodAndServiceNetworks returns PodNetworks and ServiceNetworks.
func PodAndServiceNetworks(hc *hyperv1.HostedCluster) []netip.Prefix {
	return slices.Concat(PodNetworks(hc), ServiceNetworks(hc))
}

// MachineNetworks returns the valid entries of spec.networking.machineNetwork. On KubeVirt, HyperShift validates this
// field and does not use it.
func MachineNetworks(hc *hyperv1.HostedCluster) []netip.Prefix {
	var cidrs []string
	for _, n := range hc.Spec.Networking.MachineNetwork {
		cidrs = append(cidrs, n.CIDR.String())
	}
	return prefixes(cidrs)
}

// prefixes returns the valid prefixes in cidrs, or those in byDefault if there are no cidrs.
func prefixes(cidrs []string, byDefault ...string) []netip.Prefix {
	if len(cidrs) == 0 {
		cidrs = byDefault
	}
	var out []netip.Prefix
	for _, c := range cidrs {
		if p, err := netip.ParsePrefix(c); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

// Domain returns the domain of the hosted cluster, as HyperShift's globalconfig.BaseDomain does. It is empty if
// spec.dns.baseDomain is.
func Domain(hc *hyperv1.HostedCluster) string {
	base := hc.Spec.DNS.BaseDomain
	if base == "" {
		return ""
	}
	prefix := hc.Name
	if p := hc.Spec.DNS.BaseDomainPrefix; p != nil {
		prefix = *p
	}
	if prefix == "" {
		return base
	}
	return prefix + "." + base
}

// Attachments returns the networks of np in the order of its VMs' interfaces.
func Attachments(hc *hyperv1.HostedCluster, np hyperv1.NodePool) []network.Attachment {
	if np.Spec.Platform.Kubevirt == nil {
		return nil
	}
	var out []network.Attachment
	own := ControlPlaneNamespace(hc)
	for _, n := range np.Spec.Platform.Kubevirt.AdditionalNetworks {
		out = append(out, nad.ParseName(n.Name, own))
	}
	return out
}

// ReportedNodes returns the nodes of o with a status. Manifests of nodes may have only some labels, and no status.
func (o Objects) ReportedNodes() []corev1.Node {
	return slices.DeleteFunc(slices.Clone(o.Nodes), func(n corev1.Node) bool { return reflect.ValueOf(n.Status).IsZero() })
}

// The limits of one hosted cluster. Within them, what a pass computes for the cluster and its neighbors takes less time
// than what it reads.
const (
	// MaxNodePools is the maximum number of NodePools. A NodePool with several networks counts once for each network.
	MaxNodePools = 500
	// MaxNetworks is the maximum number of networks that NodePools may name.
	MaxNetworks = 100
)

// NamedNADs returns the NADs that o's NodePools name, sorted. Beyond a limit (TooMany), the result is empty.
func NamedNADs(o Objects) []network.Attachment {
	named, _ := namedNADs(o)
	return slices.SortedFunc(maps.Keys(named), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}

// TooMany returns a problem if o is beyond a limit. Then o is not translated.
func TooMany(o Objects) problem.Problems {
	_, beyond := namedNADs(o)
	return beyond
}

func namedNADs(o Objects) (named map[network.Attachment]bool, beyond problem.Problems) {
	named, count := map[network.Attachment]bool{}, 0
	for _, np := range o.NodePools {
		all := Attachments(o.HostedCluster, np)
		for _, a := range all {
			named[a] = true
		}
		count += max(1, len(all))
		switch {
		case len(named) > MaxNetworks:
			return nil, problem.Problems{problem.New(problem.NetworksTooMany, problem.Subject{}, problem.Args{"most": {strconv.Itoa(MaxNetworks)}}, network.FieldAdditionalNetworks)}
		case count > MaxNodePools:
			return nil, problem.Problems{problem.New(problem.NodePoolsTooMany, problem.Subject{}, problem.Args{"most": {strconv.Itoa(MaxNodePools)}}, network.FieldAdditionalNetworks)}
		}
	}
	return named, nil
}

// Selected returns the value of annotation network.
func Selected(hc *hyperv1.HostedCluster) string {
	return strings.TrimSpace(hc.Annotations[settings.Prefix+network.KeyNetwork])
}

// Enabled reports whether hc has the optional capability c.
func Enabled(hc *hyperv1.HostedCluster, c hyperv1.OptionalCapability) bool {
	return hc.Spec.Capabilities == nil || !slices.Contains(hc.Spec.Capabilities.Disabled, c)
}
