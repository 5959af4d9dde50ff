// This file holds the observed state of one hosted cluster, and in which order it is read.

package controllers

import (
	"context"
	"fmt"
	"net/netip"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// priorityClass is HyperShift's class for pods that the API of a hosted cluster depends on.
const priorityClass = "hypershift-api-critical"

// networkOperatorKind is OpenShift's network operator, which makes Multus isolate namespaces.
// Only the existence of the kind is read.
var networkOperatorKind = schema.GroupKind{Group: "operator.openshift.io", Kind: "Network"}

// The kinds that are read as metadata only, or written.
var (
	hostedControlPlaneKind = hyperv1.GroupVersion.WithKind("HostedControlPlane")
	serviceAccountKind     = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
	configMapKind          = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	namespaceKind          = corev1.SchemeGroupVersion.WithKind("Namespace")
	clusterRoleKind        = rbacv1.SchemeGroupVersion.WithKind("ClusterRole")
	roleKind               = rbacv1.SchemeGroupVersion.WithKind("Role")
	roleBindingKind        = rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
	leaseKind              = coordinationv1.SchemeGroupVersion.WithKind("Lease")
	deploymentKind         = appsv1.SchemeGroupVersion.WithKind("Deployment")
	budgetKind             = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	networkPolicyKind      = networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	serviceKind            = corev1.SchemeGroupVersion.WithKind("Service")
	endpointsKind          = corev1.SchemeGroupVersion.WithKind("Endpoints")
	endpointSliceKind      = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	definitionKind         = nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition")
)

// A world is the observed state of one hosted cluster.
type world struct {
	hcp.Objects
	// controlPlane is the HostedControlPlane, the owner of all objects of oooi. Nil: HyperShift
	// has not created it.
	controlPlane *metav1.PartialObjectMetadata
	// vmsUnread is why VMs could not be listed. It is set for a cluster that does not opt in.
	vmsUnread error
	// binding gives the operator ControlPlaneRole in the control plane namespace. Nil: the operator
	// cannot write there.
	binding *metav1.PartialObjectMetadata
	// rival is another hosted cluster that keeps the control plane namespace. Zero: there is none.
	rival types.NamespacedName
	// owned are all other objects of oooi for this hosted cluster.
	owned []metav1.PartialObjectMetadata
	// led: a load balancer of the hosted cluster leads to edges.
	led bool
	// edges are the Deployments among it.
	edges []Edge
	// reports are those of the networks and edges of last, stale ones included.
	reports []reported
	// turn says whether edges of an older release may be recreated with the operator's.
	turn waves.Turn
	// loss is what the last pass saw of the annotation network.
	loss loss
	// reported is the last Report, zero where there was none.
	reported explain.Report
	// last is the plan in force. Zero where there is none.
	last network.Plan
	// lastText is last as it is stored.
	lastText string
	// unread are problems: plans in force that cannot be read, here or at a neighbor.
	unread network.Problems
	// others are the other hosted clusters on its networks, by name.
	others []network.OtherCluster
	// apiServers are the addresses of the management cluster's API server. Empty: unknown.
	apiServers []netip.AddrPort
	// partial says that a read failed, so there is more than w has.
	partial bool
	// byHand are the endpoints of Services that select no pods.
	byHand map[desired.ServicePort][]netip.AddrPort
}

// hasControlPlane reports whether a control plane exists and is not being deleted.
func (w world) hasControlPlane() bool {
	return w.controlPlane != nil && w.controlPlane.DeletionTimestamp.IsZero()
}

// gather reads one world. A HostedCluster that is gone is errGone.
func (r *Reconciler) gather(ctx context.Context, key types.NamespacedName) (w world, err error) {
	defer func() { w.partial = err != nil }()
	hc := &lenient.HostedCluster{}
	if err := r.Client.Get(ctx, key, hc); apierrors.IsNotFound(err) {
		return w, errGone
	} else if err != nil {
		return w, err
	}
	w.SetHostedCluster(hc)
	last := r.memory.of(key)
	w.turn, w.loss = r.waves.turn(key), last.loss
	last.reported.overlay(w.HostedCluster)
	if !w.HostedCluster.DeletionTimestamp.IsZero() {
		return w, nil
	}
	w.reported = r.lastReport(ctx, w.HostedCluster, last.reported)
	if err := r.gatherOwned(ctx, &w); err != nil {
		return w, fmt.Errorf("reading objects of oooi: %w", err)
	}
	if !hcp.OptedIn(w.HostedCluster) {
		return w, r.gatherRemaining(ctx, &w)
	}
	if err := r.gatherRival(ctx, &w); err != nil {
		return w, fmt.Errorf("reading the hosted clusters of one control plane namespace: %w", err)
	}
	if err := r.gatherInput(ctx, &w); err != nil {
		return w, fmt.Errorf("reading the request: %w", err)
	}
	return w, nil
}
