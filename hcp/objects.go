// Package hcp says in our words what HyperShift's objects say in theirs: from a
// HostedCluster, its NodePools, its Routes, Services and network attachment
// definitions to a network.Request and network.Facts. It is the only package that knows
// HyperShift's types, so when HyperShift changes, only this package changes.
//
// It is pure: objects in, values out. What can be read is never computed, and
// what is not there yet is waited for, not guessed.
package hcp

import (
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/settings"
)

// Objects are everything that is read about one hosted cluster.
type Objects struct {
	HostedCluster *hyperv1.HostedCluster
	// GuestIngress is what the function of that name reads of HostedCluster.
	GuestIngress *operatorv1.EndpointPublishingStrategy
	// NodePools of this cluster, in any order; deleting ones count.
	NodePools []hyperv1.NodePool
	// NetworkAttachmentDefinitions that the NodePools name, as far as they exist.
	NetworkAttachmentDefinitions []nadv1.NetworkAttachmentDefinition
	// Routes and Services of the control plane namespace.
	Routes   []routev1.Route
	Services []corev1.Service
	// VMs are the VirtualMachineInstances of the control plane namespace.
	VMs []kubevirtv1.VirtualMachineInstance
	// Nodes of the management cluster. Empty where they were not read.
	Nodes []corev1.Node
	// Management is what else is known of the management cluster.
	Management Management
	// MultusIsolates says that Multus was seen to keep namespaces apart.
	MultusIsolates bool
	// Proxy is how the management cluster reaches what is outside of it.
	Proxy httpproxy.Config
	// Partial says that the objects are not all there is (they were read from
	// files), so what is missing may well exist.
	Partial bool
}

// ControlPlaneNamespace is where the control plane of hc runs: upstream's
// manifests.HostedControlPlaneNamespace.
func ControlPlaneNamespace(hc *hyperv1.HostedCluster) string {
	return hc.Namespace + "-" + strings.ReplaceAll(hc.Name, ".", "-")
}

// OptedIn says whether hc asks for a network of ours. An empty value asks for
// one, and is refused: what a template forgot to fill in must not remove what
// runs.
func OptedIn(hc *hyperv1.HostedCluster) bool {
	v, there := hc.Annotations[settings.Prefix+settings.KeyNetwork]
	return there && strings.TrimSpace(v) != "none"
}
