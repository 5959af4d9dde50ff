package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
)

// cached holds objects. As the operator's cache, it decodes leniently and finds by indexes.
func cached(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(watch.AddToScheme(scheme)).To(Succeed())
	whole := fake.NewClientBuilder().WithScheme(apiserver.Scheme(t)).WithObjects(objects...).Build()
	return interceptor.NewClient(whole, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if !strings.HasPrefix(reflect.TypeOf(o).String(), "*lenient.") {
				return c.Get(ctx, key, o, opts...)
			}
			gvk, err := apiutil.GVKForObject(o, scheme)
			if err != nil {
				return err
			}
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(gvk)
			if err := c.Get(ctx, key, u); err != nil {
				return err
			}
			return decodeInto(u, o)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			gvk, err := apiutil.GVKForObject(list, scheme)
			o := (&client.ListOptions{}).ApplyOptions(opts)
			if err != nil || o.FieldSelector == nil && !strings.HasPrefix(reflect.TypeOf(list).String(), "*lenient.") {
				return c.List(ctx, list, opts...)
			}
			return listInto(ctx, c, list, gvk, o)
		},
	})
}

func decodeInto(from interface{ MarshalJSON() ([]byte, error) }, o any) error {
	text, err := from.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, o)
}

// listInto sets list to the objects that o selects.
func listInto(ctx context.Context, c client.Client, list client.ObjectList, gvk schema.GroupVersionKind, o *client.ListOptions) error {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(gvk)
	if err := c.List(ctx, all, client.InNamespace(o.Namespace)); err != nil {
		return err
	}
	if err := decodeInto(all, list); err != nil {
		return err
	}
	found, err := meta.ExtractList(list)
	if err != nil || o.FieldSelector == nil {
		return err
	}
	wanted := o.FieldSelector.Requirements()[0]
	return meta.SetList(list, slices.DeleteFunc(found, func(x runtime.Object) bool {
		object, _ := x.(client.Object)
		return !slices.ContainsFunc(watch.IndexesOf(object), func(i watch.Index) bool {
			return i.Name == wanted.Field && slices.Contains(i.Values(object), wanted.Value)
		})
	}))
}

// TestNeighborsByIndex: what is found by indexes is what a look at every hosted cluster finds, in
// random worlds.
func TestNeighborsByIndex(t *testing.T) {
	t.Parallel()
	met := 0
	for seed := range uint64(40) {
		g := NewWithT(t)
		random := rand.New(rand.NewPCG(seed, 1))
		objects := randomClusters(t, random)
		c := cached(t, objects...)
		r := reconcilerOf(c, prometheus.NewRegistry())
		all := &lenient.HostedClusterList{}
		g.Expect(c.List(t.Context(), all)).To(Succeed())
		around := map[string][]string{}
		for i := range all.Items {
			hc := &all.Items[i].Fields.HostedCluster
			w, err := r.reader().World(t.Context(), client.ObjectKeyFromObject(hc), gather.Before{})
			g.Expect(err).NotTo(HaveOccurred())
			var neighbors []string
			for _, o := range w.Others {
				met++
				neighbors, around[o.Name] = append(neighbors, o.Name), append(around[o.Name], own.ClusterName(hc))
			}
			r.memory.change(client.ObjectKeyFromObject(hc), func(m *remembered) {
				m.reported = &gather.LastReport{Report: explain.Report{Neighbors: neighbors}}
			})
			g.Expect(neighbors).To(ConsistOf(r.everyNeighbor(t, w, all.Items)), "seed %d: neighbors of %s", seed, own.ClusterName(hc))
			on := append(r.used(t, w.Objects), w.Last.Attachments()...)
			g.Expect(awake(r.neighborsOfHostedCluster(t.Context(), &all.Items[i]))).To(ContainElements(r.everyClusterOn(t, on, all.Items)), "seed %d: a change of %s", seed, own.ClusterName(hc))
			pools := &lenient.NodePoolList{}
			g.Expect(c.List(t.Context(), pools, client.MatchingFields{watch.ByCluster: hc.Name})).To(Succeed())
			for i := range pools.Items {
				np := &pools.Items[i]
				o := hcp.Objects{HostedCluster: hc, NodePools: []hyperv1.NodePool{*np.Fields}}
				g.Expect(awake(r.neighborsOfNodePool(t.Context(), np))).To(ContainElements(r.everyClusterOn(t, r.used(t, o), all.Items)), "seed %d: NodePool %s", seed, np.Name)
			}
		}
		r.moves(t, random, all.Items)
		gone := &all.Items[random.IntN(len(all.Items))].Fields.HostedCluster
		gone.Finalizers = nil
		g.Expect(client.IgnoreNotFound(c.Update(t.Context(), gone))).To(Succeed())
		g.Expect(client.IgnoreNotFound(c.Delete(t.Context(), gone))).To(Succeed())
		g.Expect(awake(r.neighborsOfHostedCluster(t.Context(), gone))).To(ConsistOf(around[own.ClusterName(gone)]), "seed %d: %s is gone", seed, own.ClusterName(gone))
	}
	NewWithT(t).Expect(met).To(BeNumerically(">", 40), "worlds without neighbors show nothing")
}

// moves puts one NAD on another bridge. The clusters on both bridges are reconciled.
func (r *Reconciler) moves(t *testing.T, random *rand.Rand, all []lenient.HostedCluster) {
	t.Helper()
	g := NewWithT(t)
	nads := &nadv1.NetworkAttachmentDefinitionList{}
	g.Expect(r.Client.List(t.Context(), nads)).To(Succeed())
	nads.Items = slices.DeleteFunc(nads.Items, func(nad nadv1.NetworkAttachmentDefinition) bool { return own.Is(&nad) })
	before := nads.Items[random.IntN(len(nads.Items))]
	a := network.Attachment{Namespace: before.Namespace, Name: before.Name, Layer2: networks.Layer2(before)}
	want := r.everyClusterOn(t, []network.Attachment{a}, all)
	after := *before.DeepCopy()
	after.Spec.Config = bridge(random.IntN(4))
	g.Expect(r.Client.Update(t.Context(), &after)).To(Succeed())
	a.Layer2 = networks.Layer2(after)
	for _, name := range r.everyClusterOn(t, []network.Attachment{a}, all) {
		if !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	got := map[string]bool{}
	for _, o := range []*nadv1.NetworkAttachmentDefinition{&before, &after} {
		for _, name := range awake(r.ofDefinition(t.Context(), asReadNAD(o))) {
			got[name] = true
		}
	}
	g.Expect(slices.Sorted(maps.Keys(got))).To(ContainElements(want), "NAD %s/%s moves", before.Namespace, before.Name)
}

// asReadNAD is nad as the operator's cache has it.
func asReadNAD(nad *nadv1.NetworkAttachmentDefinition) *lenient.NetworkAttachmentDefinition {
	return &lenient.NetworkAttachmentDefinition{ObjectMeta: nad.ObjectMeta, Fields: nad}
}

func awake(all []reconcile.Request) []string {
	var out []string
	for _, r := range all {
		out = append(out, r.String())
	}
	return out
}

// used are the networks that o's NodePools and VMs use.
func (r *Reconciler) used(t *testing.T, o hcp.Objects) []network.Attachment {
	t.Helper()
	nads := &nadv1.NetworkAttachmentDefinitionList{}
	NewWithT(t).Expect(r.Client.List(t.Context(), nads)).To(Succeed())
	out := networks.UsedNADs(o)
	for i, a := range out {
		for _, nad := range nads.Items {
			if nad.Namespace == a.Namespace && nad.Name == a.Name {
				out[i].Layer2 = networks.Layer2(nad)
			}
		}
	}
	return out
}

// everyClusterOn are the names of the clusters on these networks, by a look at each.
func (r *Reconciler) everyClusterOn(t *testing.T, on []network.Attachment, all []lenient.HostedCluster) []string {
	t.Helper()
	var out []string
	for i := range all {
		o := hcp.Objects{HostedCluster: &all[i].Fields.HostedCluster}
		NewWithT(t).Expect(r.reader().ReadAttached(t.Context(), &o)).To(Succeed())
		serves, _, _, err := r.reader().PlanInForce(t.Context(), o.HostedCluster)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if own.Relevant(&all[i]) && meet(on, append(r.used(t, o), serves.Attachments()...)) {
			out = append(out, own.ClusterName(o.HostedCluster))
		}
	}
	return out
}

// meet reports whether a and b have a network in common.
func meet(a, b []network.Attachment) bool {
	return slices.ContainsFunc(a, func(x network.Attachment) bool { return slices.ContainsFunc(b, x.SameNetwork) })
}

// everyNeighbor are the neighbors of w by a look at each cluster. One that is not served has none.
func (r *Reconciler) everyNeighbor(t *testing.T, w gather.World, all []lenient.HostedCluster) (out []string) {
	t.Helper()
	g := NewWithT(t)
	for i := range all {
		hc := &all[i].Fields.HostedCluster
		if own.ClusterName(hc) == own.ClusterName(w.HostedCluster) || !hcp.OptedIn(w.HostedCluster) || !w.HostedCluster.DeletionTimestamp.IsZero() {
			continue
		}
		o := hcp.Objects{HostedCluster: hc}
		g.Expect(r.reader().ReadAttached(t.Context(), &o)).To(Succeed())
		if !own.Relevant(&all[i]) && !hcp.MayUseNetworks(hc, len(o.VMs) > 0) {
			continue
		}
		serves, _, _, err := r.reader().PlanInForce(t.Context(), hc)
		g.Expect(err).NotTo(HaveOccurred())
		if !own.Relevant(&all[i]) {
			o.VMs, serves = nil, network.Plan{} // Only its NodePools count.
		}
		if _, ok := hcp.NewNeighbor(o, serves).For(w.Objects.HostedCluster, networks.All(w.Objects, w.Last)); ok {
			out = append(out, own.ClusterName(hc))
		}
	}
	return out
}

func bridge(i int) string {
	return fmt.Sprintf(`{"cniVersion":"0.3.1","name":"n","type":"bridge","bridge":"br%d","vlan":100,"ipam":{}}`, i)
}

// randomClusters are hosted clusters on a few bridges: in all states, with NodePools and VMs on NADs
// of their own, on common ones and on such that do not exist, and with plans in force.
func randomClusters(t *testing.T, random *rand.Rand) []client.Object {
	t.Helper()
	out := []client.Object{nadOn("default", "common", random.IntN(4)), nadOn("default", "spare", random.IntN(4))}
	used := func(ns string) string {
		return []string{ns + "/net", ns + "/net", ns + "/missing", "default/common", "default/spare"}[random.IntN(5)]
	}
	for i := range 2 + random.IntN(5) {
		hc := &hyperv1.HostedCluster{}
		for _, u := range apiserver.Sample(t, fmt.Sprintf("c%d", i)) {
			if u.GetKind() == "HostedCluster" {
				NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, hc)).To(Succeed())
			}
		}
		ns := hcp.ControlPlaneNamespace(hc)
		switch random.IntN(6) {
		case 0: // It opted out, and not everything is removed.
			hc.Annotations[settings.Prefix+"network"] = "none"
			meta.SetStatusCondition(&hc.Status.Conditions, metav1.Condition{Type: own.ConditionType, Status: metav1.ConditionTrue, Reason: "Ready"})
		case 1: // It never opted in.
			delete(hc.Annotations, settings.Prefix+"network")
		case 2:
			hc.Finalizers, hc.DeletionTimestamp = []string{"hypershift.openshift.io/finalizer"}, &metav1.Time{Time: testNow}
		}
		out = append(out, hc, nadOn(ns, "net", random.IntN(4)))
		for j := range random.IntN(3) {
			np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: hc.Namespace, Name: fmt.Sprintf("%s-%d", hc.Name, j)}}
			np.Spec.ClusterName = hc.Name
			np.Spec.Platform.Kubevirt = &hyperv1.KubevirtNodePoolPlatform{AdditionalNetworks: []hyperv1.KubevirtNetwork{{Name: used(ns)}}}
			out = append(out, np)
		}
		if random.IntN(2) == 0 {
			vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "vm"}}
			vm.Spec.Networks = []kubevirtv1.Network{{Name: "a", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: used(ns)}}}}
			out = append(out, vm)
		}
		if random.IntN(2) == 0 {
			out = append(out, inForce(ns, used(ns), bridge(random.IntN(4)))...)
		}
	}
	return out
}

func nadOn(ns, name string, i int) client.Object {
	return &nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: nadv1.NetworkAttachmentDefinitionSpec{Config: bridge(i)}}
}

// inForce is a plan in force with one network.
func inForce(ns, nad, config string) []client.Object {
	of, name, _ := strings.Cut(nad, "/")
	found := nadv1.NetworkAttachmentDefinition{Spec: nadv1.NetworkAttachmentDefinitionSpec{Config: config}}
	a := network.Attachment{Namespace: of, Name: name, Layer2: networks.Layer2(found)}
	edge := network.Network{Name: a.NetworkName(), Attachment: a}
	plan := network.Plan{Networks: []network.Network{edge}}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: wire.PlanConfigMap, Labels: own.Labels(), Annotations: map[string]string{own.DesiredAnnotation: "x"}}, Data: map[string]string{wire.PlanKey: string(plan.JSON())}},
		&nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: wire.EdgeNADName(edge), Labels: own.Labels()},
			Spec: nadv1.NetworkAttachmentDefinitionSpec{Config: strings.Replace(config, `"ipam":{}`, `"ipam":{"type":"static"}`, 1)}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: own.ControlPlaneRole, Labels: own.Labels()}},
	}
}
