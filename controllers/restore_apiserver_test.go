// This file plays Velero with HyperShift's plugin, by their rules. Each rule names its place upstream: "velero" is
// vmware-tanzu/velero at d30d389b, "plugin" is openshift/hypershift-oadp-plugin at f8c5bfb0, and "hypershift" is
// openshift/hypershift at 3ee96155.

package controllers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// noBackup is the label of objects that Velero does not save (velero pkg/backup/item_backupper.go:116).
const noBackup = "velero.io/exclude-from-backup"

// saved are the kinds that HyperShift's backup of a KubeVirt cluster includes (hypershift cmd/oadp/types.go:56), as far
// as tests have them, in the order in which Velero restores them: first its list (velero pkg/cmd/server/config/config.go:108),
// then by name. Pods are not restored (plugin pkg/core/restore.go, kind Pod).
var saved = []schema.GroupVersionKind{
	own.RoleKind, own.ServiceAccountKind, own.RoleBindingKind, own.ConfigMapKind, own.ServiceKind,
	own.DeploymentKind, hyperv1.GroupVersion.WithKind("HostedCluster"), own.HostedControlPlaneKind, hyperv1.GroupVersion.WithKind("NodePool"),
	own.BudgetKind, routev1.GroupVersion.WithKind("Route"),
}

// backup returns what is saved of h.
func (h hosted) backup(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, kind := range saved {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		for _, ns := range []string{h.key.Namespace, h.ns} {
			NewWithT(t).Expect(h.admin.List(t.Context(), list, client.InNamespace(ns))).To(Succeed())
			for _, u := range list.Items {
				if u.GetLabels()[noBackup] != "true" && (ns == h.ns || u.GetName() == h.key.Name) {
					out = append(out, u.DeepCopy())
				}
			}
		}
	}
	return out
}

// backupOfOlder is a backup of an older oooi, or by a tool that does not know the label.
func (h hosted) backupOfOlder(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	for _, o := range h.stored(t) {
		if labels := o.GetLabels(); labels[noBackup] != "" {
			delete(labels, noBackup)
			o.SetLabels(labels)
		}
	}
	all := h.backup(t)
	for _, o := range h.stored(t) {
		if !slices.Contains(saved, o.GroupVersionKind()) || slices.ContainsFunc(all, func(u *unstructured.Unstructured) bool {
			return u.GroupVersionKind() == o.GroupVersionKind() && u.GetName() == o.GetName()
		}) {
			continue
		}
		labels := o.GetLabels()
		delete(labels, noBackup)
		o.SetLabels(labels)
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int {
		return slices.Index(saved, a.GroupVersionKind()) - slices.Index(saved, b.GroupVersionKind())
	})
	g.Expect(all).NotTo(BeEmpty())
	return all
}

// stored are all objects of oooi in h's namespace.
func (h hosted) stored(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for name := range h.snapshot(t) {
		kind, name, _ := strings.Cut(name, " ")
		for _, gvk := range []schema.GroupVersionKind{
			own.ServiceAccountKind, own.ConfigMapKind, own.RoleKind, own.RoleBindingKind, own.LeaseKind, own.DeploymentKind,
			own.DefinitionKind, own.BudgetKind, own.NetworkPolicyKind, own.ServiceKind,
		} {
			if gvk.Kind == kind {
				out = append(out, h.get(t, ownObject{gvk, name}))
			}
		}
	}
	return out
}

// destroy plays what HyperShift and Kubernetes do when h is deleted: nothing of its namespace is left.
func (h hosted) destroy(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	h.removed(t)
	g.Eventually(h.gone(t, &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name}})).Should(BeTrue())
	for _, o := range []client.Object{&nadv1.NetworkAttachmentDefinition{}, &coordinationv1.Lease{}, &networkingv1.NetworkPolicy{}} {
		g.Expect(h.admin.DeleteAllOf(t.Context(), o, client.InNamespace(h.ns))).To(Succeed())
	}
	for _, kind := range saved {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		g.Expect(h.admin.List(t.Context(), list, client.InNamespace(h.ns))).To(Succeed())
		for i := range list.Items {
			g.Expect(client.IgnoreNotFound(h.admin.Delete(t.Context(), &list.Items[i]))).To(Succeed())
		}
	}
	g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
}

// restore creates what a backup saved, as Velero does, until it has restored the last object of the kind until.
func (h hosted) restore(t *testing.T, backup []*unstructured.Unstructured) {
	t.Helper()
	for _, u := range backup {
		u = u.DeepCopy()
		for _, field := range []string{ // velero pkg/restore/restore.go:2102, resetMetadata
			"generateName", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
			"deletionGracePeriodSeconds", "ownerReferences",
		} {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		managed := u.GetManagedFields()
		u.SetManagedFields(nil)
		unstructured.RemoveNestedField(u.Object, "status") // velero pkg/restore/restore.go:2123, resetStatus
		labels := u.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["velero.io/backup-name"], labels["velero.io/restore-name"] = "b", "r" // velero pkg/restore/restore.go:2138, addRestoreLabels
		u.SetLabels(labels)
		switch u.GetKind() {
		case "Service": // velero pkg/restore/actions/service_action.go
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(u.Object, "spec", "clusterIPs")
		case "HostedCluster": // plugin pkg/core/restore.go, AddAnnotation
			annotations := u.GetAnnotations()
			annotations[hyperv1.HostedClusterRestoredFromBackupAnnotation] = ""
			u.SetAnnotations(annotations)
		}
		NewWithT(t).Expect(h.admin.Create(t.Context(), u)).To(Succeed(), "%s %s", u.GetKind(), u.GetName())
		before := u.DeepCopy()
		u.SetManagedFields(managed) // velero pkg/restore/restore.go:1710
		NewWithT(t).Expect(client.IgnoreNotFound(h.admin.Patch(t.Context(), u, client.MergeFrom(before)))).To(Succeed())
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

// state is what each object of oooi says, except the status and what differs between equal clusters: UIDs, times,
// addresses of Services, and Velero's labels.
func (h hosted) state(t *testing.T) map[string]any {
	t.Helper()
	services := &corev1.ServiceList{}
	NewWithT(t).Expect(h.admin.List(t.Context(), services, client.InNamespace(h.ns))).To(Succeed())
	addresses := []string{}
	for _, s := range services.Items {
		addresses = append(addresses, s.Spec.ClusterIP, "address of "+s.Name)
	}
	out := map[string]any{}
	for _, u := range h.stored(t) {
		if u.GetName() == wire.StatusConfigMap {
			continue
		}
		owners := []string{}
		for _, r := range u.GetOwnerReferences() {
			owners = append(owners, r.Kind+" "+r.Name)
		}
		labels := u.GetLabels()
		maps.DeleteFunc(labels, func(key, _ string) bool { return key == "velero.io/backup-name" || key == "velero.io/restore-name" })
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
// its edges. Objects of oooi that an older backup brings back are adopted or removed: its edges, which may serve at
// once, are removed first.
func testRestored(t *testing.T, s *apiServer, r *Reconciler) {
	for name, take := range map[string]func(hosted, *testing.T) []*unstructured.Unstructured{
		"labeled": hosted.backup, "older": hosted.backupOfOlder,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := s.served(t, "restored"+name)
			n := h.network("vlan100")
			nad := &nadv1.NetworkAttachmentDefinition{}
			g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: "vlan100"}, nad)).To(Succeed())
			fresh, backup := h.state(t), take(h, t)
			if name == "labeled" {
				g.Expect(slices.ContainsFunc(backup, func(u *unstructured.Unstructured) bool { return own.Is(u) })).To(BeFalse(), "the backup has no object of oooi")
			}
			h.destroy(t)

			// The edges of an older backup serve before the HostedCluster exists, as on localnet, and report.
			before := slices.IndexFunc(backup, func(u *unstructured.Unstructured) bool { return u.GetKind() == "HostedCluster" })
			h.restore(t, backup[:before])
			leftover := h.deployments(t, "vlan100")
			g.Expect(h.allServe(t, leftover)).To(Succeed())
			if len(leftover) > 0 {
				h.listens(t, 1)
				h.listens(t, 2)
			}
			h.restore(t, backup[before:])
			g.Eventually(h.names(t)).Should(BeEmpty(), "nothing is served before HyperShift publishes the control plane")
			g.Eventually(h.reason(t)).ShouldNot(BeEmpty())
			g.Expect(h.condition(t).Status).NotTo(Equal(metav1.ConditionTrue))

			h.status(t, func(s *hyperv1.HostedClusterStatus) {
				s.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "203.0.113.10", Port: 6443}
			})
			again(t, r, h)
			g.Expect(h.names(t)()).To(BeEmpty(), "the NAD of the VMs is not in the backup")
			g.Eventually(h.says(t)).Should(ContainSubstring("vlan100"))
			g.Expect(s.admin.Create(t.Context(), &nadv1.NetworkAttachmentDefinition{
				ObjectMeta: metav1.ObjectMeta{Namespace: nad.Namespace, Name: nad.Name, Annotations: nad.Annotations}, Spec: nad.Spec})).To(Succeed())
			g.Eventually(h.names(t)).Should(Equal([]string{wire.ACDDeploymentName(n)}))
			h.listens(t, 1) // The pod of a removed edge is still ending, and reports once more.
			again(t, r, h)
			g.Expect(h.names(t)()).To(Equal([]string{wire.ACDDeploymentName(n)}), "no edge before the check has passed")
			g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))

			h.edgeServes(t)
			h.wellServed(t)
			h.listens(t, 1)
			g.Expect(s.admin.Delete(t.Context(), h.get(t, ownObject{own.LeaseKind, wire.EdgeReportLease(n, network.Edge{Number: 1}).Name}))).To(Succeed())
			g.Eventually(func() map[string]any { return h.state(t) }).Should(Equal(fresh))
		})
	}
}
