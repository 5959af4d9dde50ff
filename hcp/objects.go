// Package hcp translates HyperShift's objects into a network.Request and
// network.Facts. It reads a HostedCluster, its NodePools, Routes and Services, and
// NetworkAttachmentDefinitions. It is the only package that interprets
// HyperShift's types.
//
// The package is pure: objects in, values out. It reads values that HyperShift
// publishes instead of computing them. Values that are not published yet are waited
// for, not guessed.
package hcp

import (
	"net/netip"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Objects holds all objects that are read about one hosted cluster.
type Objects struct {
	HostedCluster *hyperv1.HostedCluster
	// GuestIngress is how HostedCluster publishes its ingress. Nil: the field is not set.
	GuestIngress *operatorv1.EndpointPublishingStrategy
	// NodePools of this cluster in any order, including those that are being deleted.
	NodePools []hyperv1.NodePool
	// NetworkAttachmentDefinitions that the NodePools name and that exist.
	NetworkAttachmentDefinitions []nadv1.NetworkAttachmentDefinition
	// Routes and Services of the control plane namespace.
	Routes   []routev1.Route
	Services []corev1.Service
	// Slices are the EndpointSlices of load balancers there. Empty if they were not read.
	Slices []ServiceSlice
	// Pods are the addresses of the pods behind Services of the control plane namespace. Empty if
	// they were not read.
	Pods []netip.Addr
	// VMs are the VirtualMachineInstances of the control plane namespace.
	VMs []kubevirtv1.VirtualMachineInstance
	// Nodes of the management cluster. Empty if they were not read.
	Nodes []corev1.Node
	// Management holds further facts about the management cluster.
	Management Management
	// MultusIsolates is true if Multus is known to isolate namespaces.
	MultusIsolates bool
	// Proxy is the HTTP proxy configuration of the management cluster.
	Proxy httpproxy.Config
	// Permissions are those of the management cluster's administrator.
	Permissions network.Permissions
	// Unreadable are problems of objects that cannot be decoded as a whole.
	Unreadable network.Problems
	// Partial is true if the objects were read from files. Then a missing object might
	// exist in the cluster.
	Partial bool
}

// ControlPlaneNamespace returns the namespace of hc's control plane. It is equal to
// HyperShift's manifests.HostedControlPlaneNamespace.
func ControlPlaneNamespace(hc *hyperv1.HostedCluster) string {
	return hc.Namespace + "-" + strings.ReplaceAll(hc.Name, ".", "-")
}

// OptedIn reports whether the annotation network enables oooi for hc. An empty value
// counts as enabled, and Translate refuses it. So a template that renders an empty
// value cannot remove the networks in use.
func OptedIn(hc *hyperv1.HostedCluster) bool {
	_, ok := hc.Annotations[settings.Prefix+settings.KeyNetwork]
	return ok && !OptedOut(hc)
}

// OptedOut reports whether hc says that it is not served. A cluster without the annotation does not.
func OptedOut(hc *hyperv1.HostedCluster) bool {
	return selected(hc) == "none"
}
