// This file lists, for each kind, the fields that packages hcp and controllers read. A test compares plans derived
// from these fields with plans derived from whole objects.

package lenient

import (
	"reflect"
	"slices"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/edge/wire"
)

// HostedClusterFields has the fields of a HostedCluster, and fields that the imported types lack.
type HostedClusterFields struct {
	hyperv1.HostedCluster
	// HostedIngress is how the hosted cluster publishes its ingress. Nil: not set.
	HostedIngress *operatorv1.EndpointPublishingStrategy `path:"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy"`
	// JoinSubnet is the IPv4 join subnet of OVN-Kubernetes since HyperShift 0.1.80. Empty: not set.
	JoinSubnet string `path:"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.v4InternalSubnet"`
	// OVNMTU is the MTU of the pod network of OVN-Kubernetes in bytes, since HyperShift 0.1.80. 0: not set.
	OVNMTU int `path:"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.mtu"`
	OVNIPv6
	// AllocateNodeCIDRs is Enabled if kube-controller-manager gives nodes their pod subnets, since HyperShift 0.1.72. Empty: not set.
	AllocateNodeCIDRs string `path:"spec.networking.allocateNodeCIDRs"`
}

// OVNIPv6 are the IPv6 subnets of OVN-Kubernetes since HyperShift 0.1.80. One that is empty is not set.
type OVNIPv6 struct {
	Internal string `path:"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.v6InternalSubnet"`
	Join     string `path:"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv6.internalJoinSubnet"`
	Transit  string `path:"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv6.internalTransitSwitchSubnet"`
}

// DeepCopyObject returns a copy of f.
func (f *HostedClusterFields) DeepCopyObject() runtime.Object {
	return &HostedClusterFields{HostedCluster: *f.DeepCopy(), HostedIngress: f.HostedIngress.DeepCopy(), JoinSubnet: f.JoinSubnet, OVNMTU: f.OVNMTU, OVNIPv6: f.OVNIPv6, AllocateNodeCIDRs: f.AllocateNodeCIDRs}
}

// A kind has the fields that are read of objects of one kind. It is a schema.ObjectKind.
type kind struct {
	gvk    schema.GroupVersionKind
	fields *projection
}

// GroupVersionKind implements schema.ObjectKind.
func (k kind) GroupVersionKind() schema.GroupVersionKind { return k.gvk }

// SetGroupVersionKind implements schema.ObjectKind. It does nothing, because the kind is constant. Some
// clients set an empty kind.
func (k kind) SetGroupVersionKind(schema.GroupVersionKind) {}

// under returns the paths of fields below path.
func under(path string, fields ...string) []string {
	var out []string
	for _, f := range fields {
		out = append(out, path+"."+f)
	}
	return out
}

// metadata returns the paths of the metadata that is read of every kind, followed by further.
func metadata(further ...string) []string {
	return under("metadata", append([]string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"}, further...)...)
}

func hostedClusterKind() kind {
	return kind{gvk: hyperv1.GroupVersion.WithKind("HostedCluster"), fields: project(reflect.TypeFor[HostedClusterFields](), slices.Concat(
		metadata("annotations"),
		under("spec", "pausedUntil", "infraID", "controllerAvailabilityPolicy", "capabilities.disabled", "autoscaling.maxNodesTotal", "olmCatalogPlacement", "tolerations"),
		under("spec", "dns.baseDomain", "dns.baseDomainPrefix", "kubeAPIServerDNSName"),
		under("spec", "release.image", "controlPlaneRelease.image", "imageContentSources[].mirrors", "imageContentSources[].source"),
		under("spec.platform", "type", "kubevirt.baseDomainPassthrough", "kubevirt.generateID", "kubevirt.credentials.infraNamespace"),
		under("spec.networking", "networkType", "allocateNodeCIDRs", "clusterNetwork[].cidr", "clusterNetwork[].hostPrefix", "serviceNetwork[].cidr",
			"machineNetwork[].cidr", "apiServer.advertiseAddress", "apiServer.port"),
		under("spec.services[]", "service", "servicePublishingStrategy.type", "servicePublishingStrategy.nodePort.address",
			"servicePublishingStrategy.nodePort.port", "servicePublishingStrategy.route.hostname", "servicePublishingStrategy.loadBalancer.hostname"),
		under("spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig", "mtu", "v4InternalSubnet", "v6InternalSubnet", "ipv4.internalJoinSubnet",
			"ipv4.internalTransitSwitchSubnet", "ipv6.internalJoinSubnet", "ipv6.internalTransitSwitchSubnet"),
		under("spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy", "type", "hostNetwork.httpPort", "hostNetwork.httpsPort",
			"hostNetwork.protocol", "nodePort.protocol"),
		under("spec.configuration", "apiServer.servingCerts.namedCertificates[].names", "network.serviceNodePortRange", "operatorhub.disableAllDefaultSources",
			"ingress.appsDomain", "ingress.domain", "ingress.componentRoutes[].hostname", "proxy.httpProxy", "proxy.httpsProxy", "proxy.noProxy"),
		under("spec.configuration.authentication", "type", "oidcProviders[].name", "oidcProviders[].issuer.issuerURL"),
		under("spec.configuration.oauth.identityProviders[]", "name", "basicAuth.url", "github.hostname", "gitlab.url", "google.clientID",
			"keystone.url", "ldap.url", "openID.issuer"),
		under("spec.configuration.image", "allowedRegistriesForImport[].domainName", "allowedRegistriesForImport[].insecure"),
		under("spec.configuration.image.registrySources", "allowedRegistries", "blockedRegistries", "containerRuntimeSearchRegistries", "insecureRegistries"),
		under("status", "controlPlaneEndpoint.host", "controlPlaneEndpoint.port", "ignitionEndpoint", "version.history[].image", "version.history[].state"),
		under("status.conditions[]", "type", "status", "reason", "message", "observedGeneration", "lastTransitionTime"),
	)...)}
}

func nodePoolKind() kind {
	return kind{gvk: hyperv1.GroupVersion.WithKind("NodePool"), fields: project(reflect.TypeFor[hyperv1.NodePool](), append(metadata("annotations", "ownerReferences"),
		"spec.clusterName",
		"spec.pausedUntil",
		"spec.config[].name",
		"spec.platform.kubevirt.additionalNetworks[].name",
		"spec.platform.kubevirt.attachDefaultNetwork",
		"spec.platform.kubevirt.nodeSelector",
		"spec.arch",
		"spec.taints[].effect",
		"spec.replicas",
		"spec.autoScaling.min",
		"spec.autoScaling.max",
		"spec.nodeLabels",
		"spec.management.upgradeType",
		"spec.management.replace.strategy",
		"spec.management.replace.rollingUpdate.maxSurge",
		"spec.release.image",
		"spec.platform.kubevirt.rootVolume.diskImage.containerDiskImage",
		"spec.platform.kubevirt.rootVolume.persistent.storageClass",
		"status.replicas",
		"status.conditions[].type",
		"status.conditions[].status",
		"status.conditions[].reason",
		"status.conditions[].message",
		"status.conditions[].observedGeneration",
	)...)}
}

func routeKind() kind {
	return kind{gvk: routev1.GroupVersion.WithKind("Route"), fields: project(reflect.TypeFor[routev1.Route](), append(metadata("labels"),
		"spec.host",
		"spec.port.targetPort",
		"spec.tls.termination",
		"spec.wildcardPolicy",
		"spec.to.name",
		"spec.to.weight",
		"spec.alternateBackends[].name",
		"spec.alternateBackends[].weight",
		"status.ingress[].host",
		"status.ingress[].conditions[].type",
		"status.ingress[].conditions[].status",
	)...)}
}

func nadKind() kind {
	return kind{gvk: nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition"),
		fields: project(reflect.TypeFor[nadv1.NetworkAttachmentDefinition](), append(metadata("labels", "annotations", "ownerReferences"), "spec.config")...)}
}

func vmiKind() kind {
	return kind{gvk: schema.GroupVersionKind{Group: wire.KubeVirtGroup, Version: "v1", Kind: "VirtualMachineInstance"},
		fields: project(reflect.TypeFor[VirtualMachineInstance](), append(metadata(),
			"spec.networks[].name",
			"spec.networks[].multus.networkName",
			"status.interfaces[].name",
			"status.interfaces[].mac",
			"status.interfaces[].ipAddress",
			"status.interfaces[].ipAddresses",
			"status.conditions[].type",
		)...)}
}
