package operatorbench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/apiserver"
)

// Where HostedClusters are.
const clustersNamespace = "clusters"

// What each hosted cluster has.
const (
	poolsOfCluster = 2
	vmsOfCluster   = 6
)

// A world is a management cluster.
type world struct {
	*apiserver.Server
	// audit is the file with the operator's requests.
	audit string
	names []string
}

// newWorld is one where oooi is installed, without a hosted cluster.
func newWorld(t *testing.T) *world {
	t.Helper()
	flags, file := auditFlags(t)
	flags["service-cluster-ip-range"] = "10.96.0.0/12"
	w := &world{Server: apiserver.Start(t, flags), audit: file}
	g := NewWithT(t)
	w.Install(t)
	w.InstallKinds(t)
	port := int32(6443)
	g.Expect(w.Admin.Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.11"}}}, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	})).To(Succeed())
	for i := range 3 {
		g.Expect(w.Admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node%d", i)},
			Spec:   corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.%d.0.0/16", 128+i)},
			Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{ContainerRuntimeVersion: "cri-o://1.33"}}})).To(Succeed())
	}
	g.Expect(w.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clustersNamespace}})).To(Succeed())
	return w
}

// controlPlane is the namespace of a hosted cluster's control plane.
func controlPlane(name string) string { return clustersNamespace + "-" + name }

// addClusters creates n hosted clusters that opted in, as HyperShift has them when their VMs run.
// Each has a network of its own.
func (w *world) addClusters(t *testing.T, n int) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(16)
	for i := range n {
		name := fmt.Sprintf("c%04d", i)
		w.names = append(w.names, name)
		sample := apiserver.Sample(t, name)
		all.Go(func() error { return w.addCluster(t.Context(), name, i, sample) })
	}
	NewWithT(t).Expect(all.Wait()).To(Succeed())
}

func (w *world) addCluster(ctx context.Context, name string, number int, sample []*unstructured.Unstructured) error {
	ns := controlPlane(name)
	if err := w.Admin.Create(ctx, apiserver.ControlPlaneNamespace(ns)); err != nil {
		return err
	}
	hc := &hyperv1.HostedCluster{}
	for _, u := range sample {
		copies := 1
		if u.GetKind() == "NodePool" {
			copies = poolsOfCluster
		}
		for i := range copies {
			o := u.DeepCopy()
			if i > 0 {
				o.SetName(fmt.Sprintf("%s-%d", name, i))
			}
			if err := w.Admin.Create(ctx, o); err != nil {
				return err
			}
			if o.GetKind() == "HostedCluster" {
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, hc); err != nil {
					return err
				}
			}
		}
	}
	for i := range vmsOfCluster {
		if err := w.Admin.Create(ctx, vm(ns, i, number)); err != nil {
			return err
		}
	}
	if err := apiserver.Publish(ctx, w.Admin, hc, ns); err != nil {
		return err
	}
	hc.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: apiserver.APIAddress, Port: 6443}
	return w.Admin.Status().Update(ctx, hc)
}

// vm is a VirtualMachineInstance as large as KubeVirt's.
func vm(ns string, i, number int) client.Object {
	var conditions []any
	for j := range 12 {
		conditions = append(conditions, map[string]any{"type": fmt.Sprintf("Condition%d", j), "status": "True", "message": strings.Repeat("x", 200)})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
		"metadata": map[string]any{"namespace": ns, "name": fmt.Sprintf("vm-%d", i)},
		"spec": map[string]any{
			"domain":   map[string]any{"devices": map[string]any{"interfaces": []any{map[string]any{"name": "iface1", "bridge": map[string]any{}}}}},
			"networks": []any{map[string]any{"name": "iface1", "multus": map[string]any{"networkName": ns + "/vlan100"}}},
		},
		"status": map[string]any{
			"phase": "Running", "conditions": conditions,
			"interfaces": []any{map[string]any{"name": "iface1", "mac": fmt.Sprintf("02:00:00:%02x:%02x:%02x", number>>8&0xff, number&0xff, i),
				"ipAddress": fmt.Sprintf("192.168.100.%d", 100+i), "ipAddresses": []any{fmt.Sprintf("192.168.100.%d", 100+i)}}},
		},
	}}
}

// addOthers creates objects that have nothing to do with oooi: times as many Services,
// EndpointSlices and VMs as n hosted clusters have.
func (w *world) addOthers(t *testing.T, n, times int) {
	t.Helper()
	const servicesOfCluster = 4
	var all errgroup.Group
	all.SetLimit(16)
	var made atomic.Int64
	for i := range n * times {
		all.Go(func() error {
			ctx, ns := t.Context(), fmt.Sprintf("other-%04d", i)
			objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}}
			for j := range servicesOfCluster {
				objects = append(objects, others(ns, i*servicesOfCluster+j, j)...)
			}
			for j := range vmsOfCluster {
				objects = append(objects, vm(ns, j, i))
			}
			for _, o := range objects {
				if err := w.Admin.Create(ctx, o); err != nil {
					return err
				}
				made.Add(1)
			}
			return nil
		})
	}
	NewWithT(t).Expect(all.Wait()).To(Succeed())
	t.Logf("%d objects of others", made.Load())
}

// others are a Service and its EndpointSlice.
func others(ns string, number, i int) []client.Object {
	name, port, ready := fmt.Sprintf("service-%d", i), int32(8443), true
	meta := metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": ns}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: *meta.DeepCopy(), AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}}}
	slice.Labels[discoveryv1.LabelServiceName] = name
	for j := range 2 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", 128+j, number>>8&0xff, number&0xff)},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: fmt.Sprintf("%s-%d", name, j), UID: "d3b07384-d9a0-4c9b-8f33-2f1f1b0f7a11"},
		})
	}
	return []client.Object{
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: map[string]string{"app.kubernetes.io/name": name}, Ports: []corev1.ServicePort{{Port: port}}}},
		slice,
	}
}
