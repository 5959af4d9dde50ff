package controllers

import (
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/problem"
)

// joins moves h's definition onto other's segment: the same bridge and VLAN by
// another definition.
func (h hosted) joins(t *testing.T, other hosted) {
	t.Helper()
	g := NewWithT(t)
	get := func(ns string) *nadv1.NetworkAttachmentDefinition {
		nad := &nadv1.NetworkAttachmentDefinition{}
		g.Expect(h.admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "vlan100"}, nad)).To(Succeed())
		return nad
	}
	ours := get(h.ns)
	ours.Spec.Config = get(other.ns).Spec.Config
	g.Expect(h.admin.Update(t.Context(), ours)).To(Succeed())
}

// says is the condition's reason and message in one.
func (h hosted) says(t *testing.T) func() string {
	return func() string {
		if c := h.condition(t); c != nil {
			return c.Reason + ": " + c.Message
		}
		return ""
	}
}

// asRead is hc as the operator's cache has it.
func asRead(hc hyperv1.HostedCluster) lenient.HostedCluster {
	return lenient.HostedCluster{ObjectMeta: hc.ObjectMeta, Fields: &lenient.HostedClusterFields{HostedCluster: hc}}
}

// testConflictOnOneSegment: the cluster that was served first stays unchanged. The condition of the other one names
// the keys to set. It is served once they are set, or once the first cluster is gone.
func testConflictOnOneSegment(t *testing.T, s *apiServer, _ *Reconciler) {
	for name, mend := range map[string]func(t *testing.T, first, second hosted){
		"it takes other addresses": func(t *testing.T, _, second hosted) {
			second.annotate(t, "edge-addresses", "192.168.100.202,192.168.100.203,192.168.100.204,192.168.100.205")
			second.annotate(t, "dhcp-range", "192.168.100.210-192.168.100.250")
		},
		"the first opts out": func(t *testing.T, first, _ hosted) { first.annotate(t, "network", "none") },
		"the first is deleted": func(t *testing.T, first, _ hosted) {
			first.removed(t)
		},
		"the first moves away": func(t *testing.T, first, _ hosted) { first.annotate(t, "cidr", "192.168.101.0/24") },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			word := strings.ReplaceAll(strings.TrimPrefix(name, "the "), " ", "")
			first, second := s.newHosted(t, word+"1", nil), s.newHosted(t, word+"2", nil)
			if name == "it takes other addresses" {
				first.annotate(t, "dhcp-range", "192.168.100.10-192.168.100.199")
			}
			second.joins(t, first)
			second.publish(t) // the younger one's control plane is there first
			g.Eventually(second.says(t)).Should(And(HavePrefix(string(problem.NetworkShared)), ContainSubstring("clusters/"+first.key.Name)))
			g.Expect(second.says(t)()).To(And(ContainSubstring("edge-addresses"), ContainSubstring("dhcp-range"), ContainSubstring("Nothing is applied")))
			first.publish(t)
			first.edgeServes(t)
			g.Eventually(first.reason(t)).Should(Equal(string(explain.ReadyWithWarnings)))
			g.Expect(first.plan(t)).To(ContainSubstring(`"ignoreUnknownClients": true`), "the other's machines are not its own")
			g.Expect(second.snapshot(t)).To(BeEmpty())
			mend(t, first, second)
			second.edgeServes(t)
			g.Eventually(second.reason(t)).Should(Equal(string(explain.ReadyWithWarnings)))
		})
	}
}

// removed plays HyperShift's end of a cluster: NodePools, then the namespace's
// content, then the HostedCluster.
func (h hosted) removed(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(h.admin.Delete(t.Context(), h.hostedCluster(t))).To(Succeed())
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name}}
	g.Expect(h.admin.Delete(t.Context(), np)).To(Succeed())
	for _, gvk := range []schema.GroupVersionKind{own.ConfigMapKind, own.DeploymentKind, own.RoleBindingKind} {
		all := &unstructured.Unstructured{}
		all.SetGroupVersionKind(gvk)
		g.Expect(h.admin.DeleteAllOf(t.Context(), all, client.InNamespace(h.ns), client.MatchingLabels(own.Labels()))).To(Succeed())
	}
	hc := h.hostedCluster(t)
	before := hc.DeepCopy()
	hc.Finalizers = nil
	g.Expect(h.admin.Patch(t.Context(), hc, client.MergeFrom(before))).To(Succeed())
}

// testTwoOnOneSegment: with addresses of their own both are served, each to its own VMs,
// once the user of the first agrees. When the second goes, the first can answer all clients
// again.
func testTwoOnOneSegment(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	first := s.newHosted(t, "apart1", map[string]string{"dhcp-range": "192.168.100.10-192.168.100.99"})
	first.publish(t)
	first.edgeServes(t)
	g.Eventually(first.reason(t)).Should(Equal(string(explain.ReadyWithWarnings)))
	before := first.edgeVersion(t)
	second := s.newHosted(t, "apart2", map[string]string{
		"edge-addresses": "192.168.100.102-192.168.100.105", "dhcp-range": "192.168.100.110-192.168.100.199"})
	second.joins(t, first)
	second.publish(t)
	g.Eventually(second.says(t)).Should(And(HavePrefix(string(problem.NetworkShared)), ContainSubstring("Set annotation unknown-clients to ignore on clusters/apart1")))
	g.Eventually(first.says(t)).Should(ContainSubstring("clusters/apart2"))
	g.Expect(second.snapshot(t)).To(BeEmpty())
	g.Expect(first.plan(t)).NotTo(ContainSubstring("ignoreUnknownClients"), "another cluster takes no client from it")
	first.annotate(t, "unknown-clients", "ignore")
	second.edgeServes(t)
	for _, h := range []hosted{first, second} {
		g.Eventually(h.says(t)).Should(HavePrefix(string(explain.ReadyWithWarnings)))
		g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring(`"ignoreUnknownClients": true`), h.key.Name)
	}
	g.Eventually(first.says(t)).Should(ContainSubstring("clusters/apart2"))
	g.Eventually(second.says(t)).Should(ContainSubstring("clusters/apart1"))
	g.Expect(first.edgeVersion(t)).To(Equal(before), "the edge runs on")
	for _, h := range []hosted{first, second} {
		again(t, r, h)
		objects, version := h.snapshot(t), h.hostedCluster(t).ResourceVersion
		again(t, r, h)
		g.Expect(h.snapshot(t)).To(Equal(objects), "a second look writes nothing")
		g.Expect(h.hostedCluster(t).ResourceVersion).To(Equal(version))
	}
	second.removed(t)
	first.annotate(t, "unknown-clients", "serve")
	g.Eventually(func() string { return first.plan(t) }).ShouldNot(ContainSubstring("ignoreUnknownClients"))
}

// edgeVersion is the version of what the edge's pod is made from.
func (h hosted) edgeVersion(t *testing.T) string { return h.snapshot(t)["Deployment "+h.edge()] }

// testBrownfield: what a machine has before us is its own; once it is ours, a guest
// may say what it likes.
func testBrownfield(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "brown", nil)
	vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "old-worker"}}
	vm.Spec.Networks = []kubevirtv1.Network{{Name: "iface1", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: h.ns + "/vlan100"}}}}
	vm.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{
		{Name: "iface1", MAC: "02:00:00:00:00:01", IP: "192.168.100.3", IPs: []string{"192.168.100.3"}},
		{InterfaceName: "br-ex", IP: "192.168.100.2"}, // the guest's own word
	}
	g.Expect(s.admin.Create(t.Context(), vm)).To(Succeed())
	h.publish(t)
	g.Eventually(h.says(t)).Should(And(HavePrefix(string(problem.AddressConflict)), ContainSubstring("old-worker already uses 192.168.100.3"), ContainSubstring("edge-addresses")))
	g.Expect(h.says(t)()).NotTo(ContainSubstring("192.168.100.2 "))
	vm.Status.Interfaces[0].IP, vm.Status.Interfaces[0].IPs = "192.168.100.77", []string{"192.168.100.77"}
	g.Expect(s.admin.Update(t.Context(), vm)).To(Succeed())
	h.edgeServes(t)
	g.Eventually(h.reason(t)).Should(Equal(string(explain.ReadyWithWarnings)))
	vm.Status.Interfaces[0].IP = "192.168.100.3"
	g.Expect(s.admin.Update(t.Context(), vm)).To(Succeed())
	h.annotate(t, "lease-time", "30m")
	g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring(`"leaseTime": "30m0s"`), "a lie freezes nothing")
}

// testSettingsOfServices: a Service's annotation counts, and wakes its cluster.
func testSettingsOfServices(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "publish")
	settings := func() string { m := h.condition(t).Message; return m[len(m)-len("12345678)"):] }
	before := settings()
	h.publishService(t, "git", "git.example.com:443")
	g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring("git.example.com"))
	g.Eventually(settings).ShouldNot(Equal(before))
}
