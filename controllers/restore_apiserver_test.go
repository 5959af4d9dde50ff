// This file restores hosted clusters from a backup, by the rules of Velero and of HyperShift's plugin.

package controllers

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/velero"
)

// saved are the kinds that a backup includes, as far as tests have them.
var saved = slices.DeleteFunc(velero.Kinds(), func(kind schema.GroupVersionKind) bool {
	return strings.HasSuffix(kind.Group, "cluster.x-k8s.io") || kind.Group == "cdi.kubevirt.io"
})

// backup returns what is saved of h. A tool that ignores the label saves all objects of oooi, and one of an older oooi
// has no label.
func (h hosted) backup(t *testing.T, ignoring bool) []*unstructured.Unstructured {
	t.Helper()
	kinds := saved
	if ignoring {
		kinds = append([]schema.GroupVersionKind{own.DefinitionKind, own.NetworkPolicyKind, own.LeaseKind}, saved...)
	}
	var out []*unstructured.Unstructured
	for _, kind := range kinds {
		for _, ns := range []string{h.key.Namespace, h.ns} {
			for _, u := range h.all(t, kind, ns) {
				switch labels := u.GetLabels(); {
				case ns != h.ns && u.GetName() != h.key.Name:
					continue
				case ignoring && own.Is(u):
					delete(labels, velero.Excluded)
					u.SetLabels(labels)
				case labels[velero.Excluded] == "true" || !slices.Contains(saved, kind):
					continue
				}
				out = append(out, u)
			}
		}
	}
	return out
}

// all returns the objects of a kind in ns.
func (h hosted) all(t *testing.T, kind schema.GroupVersionKind, ns string) []*unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	NewWithT(t).Expect(h.admin.List(t.Context(), list, client.InNamespace(ns))).To(Succeed())
	var out []*unstructured.Unstructured
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

// destroy plays what HyperShift and Kubernetes do when h is deleted: nothing of its namespace is left.
func (h hosted) destroy(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	h.removed(t)
	g.Eventually(h.gone(t, &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name}})).Should(BeTrue())
	for _, kind := range append([]schema.GroupVersionKind{own.DefinitionKind, own.NetworkPolicyKind, own.LeaseKind}, saved...) {
		for _, u := range h.all(t, kind, h.ns) {
			g.Expect(client.IgnoreNotFound(h.admin.Delete(t.Context(), u))).To(Succeed())
		}
	}
	g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
}

// restore creates what a backup saved, as Velero does.
func (h hosted) restore(t *testing.T, backup []*unstructured.Unstructured) {
	t.Helper()
	for _, u := range backup {
		NewWithT(t).Expect(velero.Restore(t.Context(), h.admin, u)).To(Succeed(), "%s %s", u.GetKind(), u.GetName())
		if u.GetKind() == "Route" {
			h.admit(t, u)
		}
	}
}

// admit plays the router.
func (h hosted) admit(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	r := &routev1.Route{}
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	NewWithT(t).Expect(h.admin.Get(t.Context(), key, r)).To(Succeed())
	r.Status.Ingress = []routev1.RouteIngress{{Host: r.Spec.Host, RouterName: "default"}}
	NewWithT(t).Expect(h.admin.Status().Update(t.Context(), r)).To(Succeed())
}

// state is what each object of oooi has, except the stored status, Leases, and what differs between equal clusters: UIDs,
// times, addresses of Services, and Velero's labels.
func (h hosted) state(t *testing.T) map[string]any {
	t.Helper()
	addresses := []string{string(h.hostedCluster(t).UID), "its UID"}
	for _, u := range h.all(t, own.ServiceKind, h.ns) {
		address, _, err := unstructured.NestedString(u.Object, "spec", "clusterIP")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		addresses = append(addresses, strconv.Quote(address), u.GetName())
	}
	out := map[string]any{}
	var objects []*unstructured.Unstructured
	for _, kind := range append([]schema.GroupVersionKind{own.DefinitionKind, own.NetworkPolicyKind}, saved...) {
		objects = append(objects, h.all(t, kind, h.ns)...)
	}
	for _, u := range objects {
		if !own.Is(u) || u.GetName() == wire.StatusConfigMap {
			continue
		}
		owners := []string{}
		for _, r := range u.GetOwnerReferences() {
			owners = append(owners, r.Kind+" "+r.Name)
		}
		labels := u.GetLabels()
		maps.DeleteFunc(labels, func(key, _ string) bool { return key == velero.BackupLabel || key == velero.RestoreLabel })
		annotations := u.GetAnnotations()
		delete(annotations, own.DesiredAnnotation) // It covers the UID of the owner.
		for _, field := range []string{"clusterIP", "clusterIPs"} {
			unstructured.RemoveNestedField(u.Object, "spec", field)
		}
		data, _, err := unstructured.NestedString(u.Object, "data", wire.PlanKey)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		out[u.GetKind()+" "+u.GetName()] = []any{
			labels, annotations, owners, u.Object["spec"], u.Object["rules"], u.Object["subjects"], u.Object["roleRef"],
			strings.Split(strings.NewReplacer(addresses...).Replace(data), "\n"),
		}
	}
	return out
}

// testRestored: a hosted cluster that is restored from a backup ends as it was, with one check of its addresses before
// its edges. Objects of oooi that a backup brings back are adopted or removed: its edges, which may serve at once, are
// removed first.
func testRestored(t *testing.T, s *apiServer, r *Reconciler) {
	for name, test := range map[string]struct{ ignoring, withoutEdges bool }{
		"labeled": {}, "ignored": {ignoring: true}, "bare": {ignoring: true, withoutEdges: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := s.newHosted(t, "restored"+name, map[string]string{"management-dns": "serve"})
			h.publish(t)
			h.edgeServes(t)
			h.wellServed(t)
			h.listens(t, 1)
			h.listens(t, 2)
			n := h.network("vlan100")
			nad := &nadv1.NetworkAttachmentDefinition{}
			g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: "vlan100"}, nad)).To(Succeed())
			fresh, backup := h.state(t), h.backup(t, test.ignoring)
			if !test.ignoring {
				g.Expect(slices.ContainsFunc(backup, func(u *unstructured.Unstructured) bool { return own.Is(u) })).To(BeFalse(), "the backup has no object of oooi")
			}
			if test.withoutEdges {
				backup = slices.DeleteFunc(backup, func(u *unstructured.Unstructured) bool { return u.GroupVersionKind() == own.DeploymentKind })
			}
			h.destroy(t)

			// Edges of the backup serve before the HostedCluster exists, as on localnet.
			at := slices.IndexFunc(backup, func(u *unstructured.Unstructured) bool { return u.GetKind() == "HostedCluster" })
			h.restore(t, backup[:at])
			restored := h.deployments(t, "vlan100")
			g.Expect(h.allServe(t, restored)).To(Succeed())
			g.Expect(len(restored) == 2).To(Equal(test.ignoring && !test.withoutEdges))
			again(t, r, h)
			g.Expect(h.names(t)()).To(HaveLen(len(restored)), "there is no HostedCluster")
			h.restore(t, backup[at:])
			g.Eventually(h.names(t)).Should(BeEmpty(), "no edge before HyperShift publishes the control plane")
			for _, edge := range restored {
				g.Eventually(h.told(t, "Disruption")).Should(ContainElement(ContainSubstring(explain.RestoredEdgeRemoved(edge.Name))))
			}
			g.Eventually(h.reason(t)).ShouldNot(BeEmpty())
			g.Expect(h.condition(t).Status).NotTo(Equal(metav1.ConditionTrue))

			h.status(t, func(s *hyperv1.HostedClusterStatus) {
				s.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: apiserver.APIAddress, Port: 6443}
			})
			g.Eventually(h.says(t)).Should(And(HavePrefix(string(problem.NetworkMissing)), ContainSubstring("vlan100")), "the NAD of the VMs is not in the backup")
			g.Expect(h.names(t)()).To(BeEmpty())
			g.Expect(s.admin.Create(t.Context(), &nadv1.NetworkAttachmentDefinition{
				ObjectMeta: metav1.ObjectMeta{Namespace: nad.Namespace, Name: nad.Name, Annotations: nad.Annotations}, Spec: nad.Spec})).To(Succeed())
			g.Eventually(h.names(t)).Should(Equal([]string{wire.ACDDeploymentName(n)}))
			report := wire.EdgeReportLease(n, network.Edge{Number: 1}).Name
			g.Eventually(func() map[string]string { return h.snapshot(t) }).ShouldNot(Or(HaveKey("Lease "+report), HaveKey("PodDisruptionBudget "+wire.BudgetName(n))))
			h.listens(t, 1) // The pod of a removed edge is still ending, and reports once more.
			again(t, r, h)
			g.Expect(h.names(t)()).To(Equal([]string{wire.ACDDeploymentName(n)}), "no edge before the check has passed")
			g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))

			h.edgeServes(t)
			h.wellServed(t)
			g.Eventually(func() map[string]any { return h.state(t) }).Should(Equal(fresh))
			g.Eventually(func() []metav1.OwnerReference {
				return h.get(t, ownObject{own.ConfigMapKind, wire.StatusConfigMap}).GetOwnerReferences()
			}).Should(HaveLen(1))
		})
	}
}
