// This file plays the part of KubeVirt's cloud controller manager that concerns the ingress of a hosted cluster: load balancers. HyperShift's own
// configuration operator then writes the EndpointSlices of the copy.
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

// guestLoadBalancer is what the ingress operator makes where its router is published by a load balancer: the Service, without a router behind it.
//
//go:embed manifests/guest-load-balancer.yaml
var guestLoadBalancer []byte

// clusterLabel is the label that HyperShift's configuration operator selects the copies of its hosted cluster with. The HostedControlPlane has its value.
const clusterLabel = "cluster.x-k8s.io/cluster-name"

// BalanceIngress publishes the router of a hosted cluster by a load balancer: the Service inside, and the cloud controller's copy of it in the
// control plane namespace. It returns the copy. The hosted cluster must be bootstrapped.
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
	// Looked up first: to create one that exists fails for its HealthCheckNodePort, which is taken.
	var there corev1.Service
	if err := h.client.Get(ctx, client.ObjectKeyFromObject(made), &there); !apierrors.IsNotFound(err) {
		return &there, err
	}
	if err = h.client.Create(ctx, made); err == nil {
		h.say("%s: Service %s balances its ingress", name, made.Name)
	}
	return made, err
}

// balanced is what the cloud controller makes from a Service of type LoadBalancer of a hosted cluster, as HyperShift configures it: without a
// selector, with the node ports as target ports, and with a name made of the Service's uid.
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
