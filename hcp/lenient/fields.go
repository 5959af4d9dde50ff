// This file lists the fields that packages hcp and controllers read of each kind. A test compares
// plans derived from these fields with plans derived from whole objects.

package lenient

import (
	"encoding/json"
	"slices"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// A HostedClusterFields has the fields of a HostedCluster, and one that the imported types lack.
type HostedClusterFields struct {
	hyperv1.HostedCluster
	// GuestIngress is how the hosted cluster publishes its ingress. Nil: not set.
	GuestIngress *operatorv1.EndpointPublishingStrategy `json:"-"`
}

// DeepCopyObject returns a copy of f.
func (f *HostedClusterFields) DeepCopyObject() runtime.Object {
	return &HostedClusterFields{HostedCluster: *f.DeepCopy(), GuestIngress: f.GuestIngress.DeepCopy()}
}

// UnmarshalJSON decodes f. It returns the error of encoding/json.
func (f *HostedClusterFields) UnmarshalJSON(b []byte) error {
	var further struct {
		Spec struct {
			OperatorConfiguration struct {
				IngressOperator struct {
					EndpointPublishingStrategy *operatorv1.EndpointPublishingStrategy `json:"endpointPublishingStrategy"`
				} `json:"ingressOperator"`
			} `json:"operatorConfiguration"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(b, &further); err != nil {
		return err
	}
	f.GuestIngress = further.Spec.OperatorConfiguration.IngressOperator.EndpointPublishingStrategy
	return json.Unmarshal(b, &f.HostedCluster)
}

// A kind is what is read of the objects of one kind.
type kind struct {
	schema.GroupVersionKind
	fields *projection
	// reduce returns the small form of an object, nil if only metadata is read. Nil: the kind has none.
	reduce func(any) smallForm
}

// metadata are the fields that every kind needs.
func metadata(further ...string) []string {
	names := append([]string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"}, further...)
	for i := range names {
		names[i] = "metadata." + names[i]
	}
	return names
}

func hostedClusterKind() kind {
	return kind{GroupVersionKind: hyperv1.GroupVersion.WithKind("HostedCluster"), fields: project(append(metadata("annotations"),
		"spec.pausedUntil",
		"spec.controllerAvailabilityPolicy",
		"spec.capabilities.disabled",
		"spec.platform.type",
		"spec.platform.kubevirt.baseDomainPassthrough",
		"spec.platform.kubevirt.generateID",
		"spec.platform.kubevirt.credentials.infraNamespace",
		"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv4.internalJoinSubnet",
		"spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.ipv4.internalTransitSwitchSubnet",
		"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.type",
		"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.hostNetwork.httpPort",
		"spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy.hostNetwork.httpsPort",
		"spec.networking.networkType",
		"spec.networking.clusterNetwork[].cidr",
		"spec.networking.serviceNetwork[].cidr",
		"spec.networking.machineNetwork[].cidr",
		"spec.networking.apiServer.advertiseAddress",
		"spec.configuration.authentication.type",
		"spec.configuration.ingress.appsDomain",
		"spec.configuration.ingress.domain",
		"spec.configuration.proxy.httpProxy",
		"spec.configuration.proxy.httpsProxy",
		"spec.dns.baseDomain",
		"spec.dns.baseDomainPrefix",
		"spec.services[].service",
		"spec.services[].servicePublishingStrategy.type",
		"spec.services[].servicePublishingStrategy.nodePort.address",
		"spec.services[].servicePublishingStrategy.nodePort.port",
		"spec.services[].servicePublishingStrategy.route.hostname",
		"spec.services[].servicePublishingStrategy.loadBalancer.hostname",
		"spec.kubeAPIServerDNSName",
		"spec.tolerations",
		"spec.release.image",
		"spec.imageContentSources[].mirrors",
		"status.controlPlaneEndpoint.host",
		"status.controlPlaneEndpoint.port",
		"status.ignitionEndpoint",
		"status.version.history[].image",
		"status.version.history[].state",
		"status.conditions[].type",
		"status.conditions[].status",
		"status.conditions[].reason",
		"status.conditions[].message",
		"status.conditions[].observedGeneration",
		"status.conditions[].lastTransitionTime",
	)...)}
}

func nodePoolKind() kind {
	return kind{GroupVersionKind: hyperv1.GroupVersion.WithKind("NodePool"), fields: project(append(metadata("annotations", "ownerReferences"),
		"spec.clusterName",
		"spec.platform.kubevirt.additionalNetworks[].name",
		"spec.platform.kubevirt.attachDefaultNetwork",
		"spec.platform.kubevirt.nodeSelector",
		"spec.replicas",
		"spec.autoScaling.max",
		"spec.management.upgradeType",
		"spec.management.replace.strategy",
		"spec.management.replace.rollingUpdate.maxSurge",
		"spec.release.image",
	)...)}
}

func routeKind() kind {
	return kind{GroupVersionKind: routev1.GroupVersion.WithKind("Route"), fields: project(append(metadata("labels"),
		"spec.host",
		"spec.port.targetPort",
		"spec.tls.termination",
		"spec.wildcardPolicy",
		"spec.to.name",
		"spec.to.weight",
		"spec.alternateBackends[].name",
		"spec.alternateBackends[].weight",
		"status.ingress[].host",
	)...)}
}

func nadKind() kind {
	return kind{GroupVersionKind: nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition"),
		fields: project(append(metadata("labels", "annotations", "ownerReferences"), "spec.config")...)}
}

// vmiKind keeps nothing but metadata of a VM that has no network of Multus, and little of others:
// there are many in other namespaces.
func vmiKind() kind {
	return kind{GroupVersionKind: kubevirtv1.VirtualMachineInstanceGroupVersionKind,
		fields: project(append(metadata(),
			"spec.networks[].name",
			"spec.networks[].multus.networkName",
			"status.interfaces[].name",
			"status.interfaces[].mac",
			"status.interfaces[].ipAddress",
			"status.interfaces[].ipAddresses",
		)...),
		reduce: func(o any) smallForm {
			vm, ok := o.(*kubevirtv1.VirtualMachineInstance)
			if !ok || !slices.ContainsFunc(vm.Spec.Networks, func(n kubevirtv1.Network) bool { return n.Multus != nil }) {
				return nil
			}
			return smallVMOf(vm)
		}}
}
