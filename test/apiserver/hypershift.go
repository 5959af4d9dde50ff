// This file plays HyperShift's part in a cluster: what a user creates, and what HyperShift makes from
// it.

package apiserver

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/programs"
)

// Sample is config/samples under another name, on a bridge of its own, and with a base domain.
func Sample(t testing.TB, name string) []*unstructured.Unstructured {
	t.Helper()
	root, err := programs.Root()
	must(t, err)
	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "hostedcluster.yaml"))
	must(t, err)
	return Objects(t, []byte(strings.NewReplacer("blue", name, `baseDomain: ""`, "baseDomain: example.com", "baseDomainPassthrough: true", "baseDomainPassthrough: false", `"bridge": "br1"`, fmt.Sprintf(`"bridge": "br-%08x"`, crc32.ChecksumIEEE([]byte(name)))).Replace(string(sample))))
}

// ControlPlaneNamespace is one as HyperShift labels it.
func ControlPlaneNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"hypershift.openshift.io/hosted-control-plane": "true"}}}
}

// APIAddress is where HyperShift publishes the API of each sample.
const APIAddress = "203.0.113.10"

// Publish creates what Published returns.
func Publish(ctx context.Context, c client.Client, hc *hyperv1.HostedCluster, ns string) error {
	for _, o := range Published(hc, ns) {
		if err := Create(ctx, c, o); err != nil {
			return err
		}
	}
	return nil
}

// Create creates o. A Route is admitted, as by a router.
func Create(ctx context.Context, c client.Client, o client.Object) error {
	if err := c.Create(ctx, o); err != nil {
		return err
	}
	if r, ok := o.(*routev1.Route); ok {
		r.Status.Ingress = []routev1.RouteIngress{{Host: r.Spec.Host, RouterName: "default"}}
		return c.Status().Update(ctx, r)
	}
	return nil
}

// Published is what HyperShift makes from hc in its control plane namespace ns, as far as oooi
// reads it: the control plane, its Services and its Routes.
func Published(hc *hyperv1.HostedCluster, ns string) []client.Object {
	out := []client.Object{&hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: hc.Name},
		Spec: hyperv1.HostedControlPlaneSpec{
			DNS: hyperv1.DNSSpec{BaseDomain: "example.com"}, InfraID: hc.Name, IssuerURL: "https://kubernetes.default.svc",
			Etcd:         hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: hyperv1.PersistentVolumeEtcdStorage}}},
			Platform:     hyperv1.PlatformSpec{Type: hyperv1.KubevirtPlatform},
			ReleaseImage: "quay.io/openshift-release-dev/ocp-release:4.20.8-multi",
			Services:     hc.Spec.Services,
			Networking:   hc.Spec.Networking,
		},
	}}
	for name, port := range map[string]int32{"kube-apiserver": 6443, "ignition-server-proxy": 443, "konnectivity-server": 8091, "oauth-openshift": 6443} {
		out = append(out, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: port}}},
		})
	}
	for name, service := range map[string]string{"ignition-server": "ignition-server-proxy", "konnectivity-server": "konnectivity-server", "oauth": "oauth-openshift"} {
		out = append(out, &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec: routev1.RouteSpec{
				Host: name + "-" + ns + ".apps.mgmt.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: service},
				TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationPassthrough},
			},
		})
	}
	return out
}
