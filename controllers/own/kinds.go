// This file has the kinds that the operator writes, or reads as metadata only.

package own

import (
	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

var (
	HostedControlPlaneKind = hyperv1.GroupVersion.WithKind("HostedControlPlane")
	ServiceAccountKind     = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
	ConfigMapKind          = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	NamespaceKind          = corev1.SchemeGroupVersion.WithKind("Namespace")
	ClusterRoleKind        = rbacv1.SchemeGroupVersion.WithKind("ClusterRole")
	RoleKind               = rbacv1.SchemeGroupVersion.WithKind("Role")
	RoleBindingKind        = rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
	LeaseKind              = coordinationv1.SchemeGroupVersion.WithKind("Lease")
	DeploymentKind         = appsv1.SchemeGroupVersion.WithKind("Deployment")
	BudgetKind             = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	NetworkPolicyKind      = networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	ServiceKind            = corev1.SchemeGroupVersion.WithKind("Service")
	EndpointsKind          = corev1.SchemeGroupVersion.WithKind("Endpoints")
	EndpointSliceKind      = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	DefinitionKind         = nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition")
)
