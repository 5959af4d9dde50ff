// This file lists, for each kind, the fields that packages hcp and controllers read. A test compares plans derived
// from these fields with plans derived from whole objects.

package lenient

import (
	"reflect"

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

// metadata returns the paths of the metadata that is read of every kind, followed by further.
func metadata(further ...string) []string {
	names := append([]string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"}, further...)
	for i := range names {
		names[i] = "metadata." + names[i]
	}
	return names
}

func hostedClusterKind() kind {
	return kind{gvk: hyperv1.GroupVersion.WithKind("HostedCluster"), fields: project(reflect.TypeFor[HostedClusterFields](), append(metadata("annotations"),
		"spec.pausedUntil",
		"spec.infraID",
		"spec.controllerAvailabilityPolicy",
		"spec.capabilities.disabled",
		"spec.platform.type",
		"spec.platform.kubevirt.baseDomainPassthrough",
		"spec.platform.kubevirt.generateID",
		"spec.platform.kubevirt.credentials.infraNamespace",
		"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv4.internalJoinSubnet", "spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv4.internalTransitSwitchSubnet",
		"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv6.internalJoinSubnet", "spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv6.internalTransitSwitchSubnet",
		"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.v4InternalSubnet",
		"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.v6InternalSubnet",
		"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.mtu",
		"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.type",
		"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.hostNetwork.httpPort", "spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.hostNetwork.httpsPort",
		"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.hostNetwork.protocol",
		"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.nodePort.protocol",
		"spec.autoscaling.maxNodesTotal",
		"spec.networking.networkType",
		"spec.networking.allocateNodeCIDRs",
		"spec.networking.clusterNetwork[].cidr",
		"spec.networking.clusterNetwork[].hostPrefix",
		"spec.networking.serviceNetwork[].cidr",
		"spec.networking.machineNetwork[].cidr",
		"spec.networking.apiServer.advertiseAddress", "spec.networking.apiServer.port",
		"spec.configuration.apiServer.servingCerts.namedCertificates[].names",
		"spec.configuration.authentication.type",
		"spec.configuration.authentication.oidcProviders[].name",
		"spec.configuration.authentication.oidcProviders[].issuer.issuerURL",
		"spec.configuration.image.allowedRegistriesForImport[].domainName",
		"spec.configuration.image.allowedRegistriesForImport[].insecure",
		"spec.configuration.image.registrySources.allowedRegistries",
		"spec.configuration.image.registrySources.blockedRegistries",
		"spec.configuration.image.registrySources.containerRuntimeSearchRegistries",
		"spec.configuration.image.registrySources.insecureRegistries",
		"spec.configuration.ingress.componentRoutes[].hostname", "spec.configuration.ingress.componentRoutes[].name", "spec.configuration.ingress.componentRoutes[].namespace",
		"spec.configuration.network.serviceNodePortRange",
		"spec.configuration.oauth.identityProviders[].name",
		"spec.configuration.oauth.identityProviders[].basicAuth.url",
		"spec.configuration.oauth.identityProviders[].github.hostname",
		"spec.configuration.oauth.identityProviders[].gitlab.url",
		"spec.configuration.oauth.identityProviders[].google.clientID",
		"spec.configuration.oauth.identityProviders[].keystone.url",
		"spec.configuration.oauth.identityProviders[].ldap.url",
		"spec.configuration.oauth.identityProviders[].openID.issuer",
		"spec.configuration.operatorhub.disableAllDefaultSources",
		"spec.controlPlaneRelease.image",
		"spec.olmCatalogPlacement",
		"spec.configuration.ingress.appsDomain",
		"spec.configuration.ingress.domain",
		"spec.configuration.proxy.httpProxy",
		"spec.configuration.proxy.httpsProxy",
		"spec.configuration.proxy.noProxy",
		"spec.dns.baseDomain",
		"spec.dns.baseDomainPrefix",
		"spec.services[].service",
		"spec.services[].servicePublishingStrategy.type",
		"spec.services[].servicePublishingStrategy.nodePort.address", "spec.services[].servicePublishingStrategy.nodePort.port",
		"spec.services[].servicePublishingStrategy.route.hostname",
		"spec.services[].servicePublishingStrategy.loadBalancer.hostname",
		"spec.kubeAPIServerDNSName",
		"spec.tolerations",
		"spec.release.image",
		"spec.imageContentSources[].mirrors",
		"spec.imageContentSources[].source",
		"status.controlPlaneEndpoint.host",
		"status.controlPlaneEndpoint.port",
		"status.ignitionEndpoint",
		"status.version.history[].image",
		"status.version.history[].state", "status.version.history[].version",
		"status.conditions[].type",
		"status.conditions[].status",
		"status.conditions[].reason",
		"status.conditions[].message",
		"status.conditions[].observedGeneration",
		"status.conditions[].lastTransitionTime",
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
		"spec.platform.kubevirt.compute.memory",
		"spec.platform.kubevirt.hostDevices[].deviceName", "spec.platform.kubevirt.hostDevices[].count",
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
		"status.conditions[].lastTransitionTime",
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
			"status.phase",
			"status.interfaces[].name",
			"status.interfaces[].mac",
			"status.interfaces[].ipAddress",
			"status.interfaces[].ipAddresses",
			"status.conditions[].type",
			"status.conditions[].status",
			"status.conditions[].reason",
			"status.conditions[].message",
		)...)}
}
