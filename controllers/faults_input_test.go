package controllers

import (
	"encoding/json"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/apiserver"
)

// faultsOfInput are those of the objects that networks are derived from.
func faultsOfInput() []fault {
	return []fault{
		{name: "A Service that nodes need has no endpoints", sees: "Waiting WaitingForEndpoint", words: "endpoint of Service kube-apiserver", keeps: "all but this endpoint, which refuses connections",
			inject: serviceWithoutEndpoints},
		{name: "A published Service is gone", sees: "Warning EndpointStale", words: "oauth", keeps: "all but this endpoint", inject: gone(&corev1.Service{}, "oauth-openshift")},
		{name: "A Route is gone", sees: "Warning EndpointStale", words: "ignition-server", keeps: "everything, with the last known host", inject: gone(&routev1.Route{}, "ignition-server")},
		{name: "A Route is not admitted", keeps: "everything: VMs do not use the router", inject: routeNotAdmitted},
		{name: "The host of a Route changes", keeps: "everything: VMs get the new name", inject: routeMoved},
		{name: "The address of the API's load balancer is gone", sees: "Waiting WaitingForControlPlane", words: "not yet published the API server", keeps: "everything, with the previous plan", inject: addressGone},
		{name: "The NAD is edited to another VLAN while VMs run", sees: "Warning AddressConflict", words: "vlan 200", keeps: "everything on the previous VLAN; VMs that start or migrate get nothing", inject: nadMoved},
		{name: "The NAD is edited, but nothing that edges take", keeps: "everything", inject: nadEdited(`{`, `{ "description": "x", `)},
		{name: "The NAD is edited to an unsupported type", sees: "Error NetworkUnsupported", words: "vlan100", keeps: "everything, with the previous plan", inject: nadEdited(`"type": "bridge"`, `"type": "host-device"`)},
		{name: "The NAD has broken JSON", sees: "Error NetworkUnsupported", words: "vlan100", keeps: "everything, with the previous plan", inject: nadEdited(`{`, ``)},
		{name: "The NAD is gone", sees: "Error NetworkMissing", words: "vlan100", keeps: "everything, with the previous plan", inject: gone(&nadv1.NetworkAttachmentDefinition{}, "vlan100")},
		{name: "A NodePool names no network", keeps: "everything; VMs of that NodePool use the pod network", inject: poolWithoutNetwork},
		{name: "The NodePool is deleted while VMs run", sees: "Waiting WaitingForNetwork", words: "NodePool", keeps: "everything while a VM uses the network", inject: poolDeleted},
		{name: "A NodePool has a field of another type that oooi does not read", keeps: "everything", inject: poolUndecodable},
		{name: "A VM has a field of another type that oooi reads", sees: "Error NotApplied", words: "VirtualMachineInstance", keeps: "everything, with the previous plan", inject: vmUndecodable},
		{name: "A VM has an address of the edges", sees: "Warning AddressInUse", words: "192.168.100.4", keeps: "everything, if that VM does not answer for the address", inject: addressOfEdges},
		{name: "The DHCP pool is smaller than the NodePools", sees: "Warning RangeTooSmall", words: "dhcp-range", keeps: "everything for the VMs that have an address", inject: annotation("dhcp-range", "192.168.100.10-192.168.100.10")},
		{name: "Another cluster asks for the same network", sees: "Info NetworkShared", words: "uses network", keeps: "everything; the other cluster waits", inject: secondCluster},
		{name: "An annotation has a wrong value", sees: "Error AnnotationInvalid", words: "lease-time", keeps: "everything, with the previous plan", inject: annotation("lease-time", "soon")},
		{name: "An annotation is misspelled", sees: "Warning AnnotationUnknown", words: "lease-time", keeps: "everything, without the annotation", inject: annotation("leasetime", "30m")},
		{name: "A gateway is outside of the CIDR", sees: "Error AddressConflict", words: "10.0.0.1", keeps: "everything, with the previous plan", inject: annotation("gateway", "10.0.0.1")},
	}
}

// gone deletes an object, and creates it again.
func gone(o client.Object, name string) func(t *testing.T, h hosted) func() {
	return func(t *testing.T, h hosted) func() {
		g := NewWithT(t)
		was, ok := o.DeepCopyObject().(client.Object)
		g.Expect(ok).To(BeTrue())
		g.Expect(h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: name}, was)).To(Succeed())
		g.Expect(h.admin.Delete(t.Context(), was)).To(Succeed())
		return func() {
			was.SetResourceVersion("")
			was.SetUID("")
			if service, ok := was.(*corev1.Service); ok {
				service.Spec.ClusterIP, service.Spec.ClusterIPs = "", nil
			}
			NewWithT(t).Expect(apiserver.Create(t.Context(), h.admin, was)).To(Succeed())
		}
	}
}

// patched changes fields of an object.
func (h hosted) patched(t *testing.T, o client.Object, ns, name string, fields map[string]any) {
	t.Helper()
	g := NewWithT(t)
	patch, err := json.Marshal(fields)
	g.Expect(err).NotTo(HaveOccurred())
	o.SetNamespace(ns)
	o.SetName(name)
	g.Expect(h.admin.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// serviceWithoutEndpoints is a Service without pods, as both edges report it.
func serviceWithoutEndpoints(t *testing.T, h hosted) func() {
	var fixes []func()
	for edge := range 2 {
		fixes = append(fixes, reportingAs(edge+1, reported.EdgeReport{DarkBackends: []string{"kube-apiserver:6443"}})(t, h))
	}
	fixes = append(fixes, h.create(t, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: h.ns, Name: "kube-apiserver-x", Labels: map[string]string{discoveryv1.LabelServiceName: "kube-apiserver"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{},
	}))
	return func() {
		for _, fix := range fixes {
			fix()
		}
	}
}

func routeNotAdmitted(t *testing.T, h hosted) func() {
	g := NewWithT(t)
	r := &routev1.Route{}
	g.Expect(h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: "oauth"}, r)).To(Succeed())
	r.Status.Ingress = []routev1.RouteIngress{{Host: r.Spec.Host, RouterName: "default", Conditions: []routev1.RouteIngressCondition{
		{Type: routev1.RouteAdmitted, Status: corev1.ConditionFalse, Reason: "HostAlreadyClaimed"}}}}
	g.Expect(h.admin.Status().Update(t.Context(), r)).To(Succeed())
	return func() {}
}

func routeMoved(t *testing.T, h hosted) func() {
	move := func(host string) func() {
		return func() {
			h.patched(t, &routev1.Route{}, h.ns, "oauth", map[string]any{"spec": map[string]any{"host": host}})
		}
	}
	move("oauth.moved.example.com")()
	NewWithT(t).Eventually(func() string { return h.plan(t) }).WithTimeout(within()).Should(ContainSubstring("oauth.moved.example.com"))
	return move("oauth-" + h.ns + ".apps.mgmt.example.com")
}

func addressGone(t *testing.T, h hosted) func() {
	was := h.hostedCluster(t).Status.ControlPlaneEndpoint
	set := func(e hyperv1.APIEndpoint) {
		h.status(t, func(s *hyperv1.HostedClusterStatus) { s.ControlPlaneEndpoint = e })
	}
	set(hyperv1.APIEndpoint{})
	return func() { set(was) }
}

// nadEdited replaces part of the NAD's configuration.
func nadEdited(part, by string) func(t *testing.T, h hosted) func() {
	return func(t *testing.T, h hosted) func() {
		g := NewWithT(t)
		nad := &nadv1.NetworkAttachmentDefinition{}
		g.Expect(h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: "vlan100"}, nad)).To(Succeed())
		was := nad.Spec.Config
		set := func(config string) func() {
			return func() {
				h.patched(t, &nadv1.NetworkAttachmentDefinition{}, h.ns, "vlan100", map[string]any{"spec": map[string]any{"config": config}})
			}
		}
		set(strings.Replace(was, part, by, 1))()
		return set(was)
	}
}

// nadMoved puts the NAD on another VLAN while a VM uses the network, and the operator has seen the VM.
func nadMoved(t *testing.T, h hosted) func() {
	h.used(t)
	return nadEdited(`"vlan": 100`, `"vlan": 200`)(t, h)
}

// used creates a VM on vlan100, and waits until the operator has seen it: it reports an address of the edges
// at first.
func (h hosted) used(t *testing.T) *kubevirtv1.VirtualMachineInstance {
	t.Helper()
	g := NewWithT(t)
	vm := h.vm(t, "worker", "192.168.100.4")
	g.Eventually(h.says(t)).Should(ContainSubstring(string(problem.AddressInUse)))
	vm.Status.Interfaces[0].IP, vm.Status.Interfaces[0].IPs = "192.168.100.20", []string{"192.168.100.20"}
	g.Expect(h.admin.Update(t.Context(), vm)).To(Succeed())
	g.Eventually(h.says(t)).ShouldNot(ContainSubstring(string(problem.AddressInUse)))
	return vm
}

// pool is a NodePool of h with another name.
func (h hosted) pool(t *testing.T, name string) *hyperv1.NodePool {
	t.Helper()
	np := &hyperv1.NodePool{}
	NewWithT(t).Expect(h.admin.Get(t.Context(), h.key, np)).To(Succeed())
	np.ObjectMeta = metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name + name}
	return np
}

func poolWithoutNetwork(t *testing.T, h hosted) func() {
	np := h.pool(t, "-none")
	np.Spec.Platform.Kubevirt.AdditionalNetworks, np.Spec.Platform.Kubevirt.AttachDefaultNetwork = nil, nil
	return h.create(t, np)
}

func poolDeleted(t *testing.T, h hosted) func() {
	h.used(t)
	np := h.pool(t, "")
	NewWithT(t).Expect(h.admin.Delete(t.Context(), np)).To(Succeed())
	return func() { h.create(t, np) }
}

func addressOfEdges(t *testing.T, h hosted) func() {
	vm := h.vm(t, "thief", "192.168.100.4")
	return func() { NewWithT(t).Expect(h.admin.Delete(t.Context(), vm)).To(Succeed()) }
}

func secondCluster(t *testing.T, h hosted) func() {
	other := h.newHosted(t, h.key.Name+"second", nil)
	other.joins(t, h)
	other.publish(t)
	return func() { other.annotate(t, "network", "none") }
}

// poolUndecodable stores what the API server takes and the imported types do not.
func poolUndecodable(t *testing.T, h hosted) func() {
	np := func() client.Object {
		return newer(t, `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{}}`)
	}
	set := func(value any) {
		h.patched(t, np(), h.key.Namespace, h.key.Name, map[string]any{"spec": map[string]any{"nodeDrainTimeout": value}})
	}
	set("five minutes")
	return func() { set(nil) }
}

func vmUndecodable(t *testing.T, h hosted) func() {
	return h.create(t, newer(t, `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"namespace":"`+h.ns+`","name":"newer"},"spec":{"networks":{"by":"name"}}}`))
}
