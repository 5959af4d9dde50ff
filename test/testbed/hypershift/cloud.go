// This file is a stand-in for the part of KubeVirt's cloud controller manager that concerns the ingress of a hosted cluster: load balancers. It
// copies a Service of type LoadBalancer into the control plane namespace. HyperShift's own configuration operator then writes the EndpointSlices
// of the copy.
package hypershift

import (
	"context"
	_ "embed"
	"maps"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// guestLoadBalancer is the Service that the ingress operator creates if its router is published by a load balancer. No router is behind it.
//
//go:embed manifests/guest-load-balancer.yaml
var guestLoadBalancer []byte

// clusterLabel is the label with which HyperShift's configuration operator selects the copies of its hosted cluster. Its value is in the
// HostedControlPlane.
const clusterLabel = "cluster.x-k8s.io/cluster-name"

// BalanceIngress publishes the router of a hosted cluster by a load balancer. It creates the Service in the hosted cluster, and the copy of it in
// the control plane namespace, and returns the copy. The hosted cluster must be bootstrapped.
func (h *HyperShift) BalanceIngress(ctx context.Context, name string) (*corev1.Service, error) {
	if err := h.guestApply(ctx, name, guestLoadBalancer); err != nil {
		return nil, err
	}
	config, err := h.GuestRESTConfig(ctx, name)
	if err != nil {
		return nil, err
	}
	guest, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	router, err := guest.CoreV1().Services("openshift-ingress").Get(ctx, "router-default", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var hcp hyperv1.HostedControlPlane
	if err := h.client.Get(ctx, client.ObjectKey{Namespace: ControlPlaneNamespace(name), Name: name}, &hcp); err != nil {
		return nil, err
	}
	made := balanced(*router, hcp.Namespace, hcp.Labels[clusterLabel], hcp.Spec.InfraID)
	// Get comes first: a create request for an existing Service fails because its HealthCheckNodePort is in use.
	var there corev1.Service
	if err := h.client.Get(ctx, client.ObjectKeyFromObject(made), &there); !apierrors.IsNotFound(err) {
		return &there, err
	}
	if err = h.client.Create(ctx, made); err == nil {
		h.say("%s: Service %s balances its ingress", name, made.Name)
	}
	return made, err
}

// balanced returns the copy of s, a Service of type LoadBalancer in a hosted cluster, as the cloud controller creates it with HyperShift's
// configuration. The copy has no selector, the node ports as target ports, and a name that contains the UID of s.
func balanced(s corev1.Service, namespace, cluster, infraID string) *corev1.Service {
	name := "a" + strings.ReplaceAll(string(s.UID), "-", "")
	out := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name[:min(len(name), 32)], Annotations: maps.Clone(s.Annotations),
			Labels: map[string]string{
				"cluster.x-k8s.io/tenant-service-name": s.Name, "cluster.x-k8s.io/tenant-service-namespace": s.Namespace,
				clusterLabel: cluster, hyperv1.InfraIDLabel: infraID,
			},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: s.Spec.ExternalTrafficPolicy, HealthCheckNodePort: s.Spec.HealthCheckNodePort,
			ExternalIPs: s.Spec.ExternalIPs, LoadBalancerIP: s.Spec.LoadBalancerIP,
		},
	}
	for _, p := range s.Spec.Ports {
		out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port, TargetPort: intstr.FromInt32(p.NodePort)})
	}
	return out
}
