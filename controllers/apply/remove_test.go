package apply

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// TestPrune: one object that cannot be deleted stops no other, except what it depends on.
func TestPrune(t *testing.T) {
	object := func(kind schema.GroupVersionKind, name, network string) metav1.PartialObjectMetadata {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{wire.LabelNetwork: network}}}
		o.SetGroupVersionKind(kind)
		return o
	}
	all := []metav1.PartialObjectMetadata{
		object(own.LeaseKind, "lease a", "a"), object(own.LeaseKind, "lease b", "b"), object(own.ConfigMapKind, "plan", ""),
		object(own.RoleKind, "role", ""), object(own.RoleBindingKind, "binding", ""), object(own.NetworkPolicyKind, desired.EdgePolicy, ""), object(own.NetworkPolicyKind, "access", ""), object(own.DefinitionKind, "nad a", "a"),
		object(own.DefinitionKind, "nad b", "b"), object(own.DeploymentKind, "edge a", "a"), object(own.DeploymentKind, "edge b", "b"), object(own.BudgetKind, "budget a", "a"),
	}
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(watch.AddToScheme(scheme)).To(Succeed())
	for name, test := range map[string]struct{ refused, terminates, deleted, left string }{
		"everything": {deleted: "edge a, edge b, budget a, oooi-edge, access, binding, role, nad a, nad b, plan, lease a, lease b"},
		"an edge is refused": {refused: "edge a",
			deleted: "edge b, budget a, access, nad b, lease b", left: "edge a, oooi-edge, binding, role, nad a, plan, lease a"},
		"an edge terminates": {terminates: "edge a",
			deleted: "edge b, budget a, access, nad b, lease b", left: "edge a, oooi-edge, binding, role, nad a, plan, lease a"},
		"two objects are refused": {refused: "oooi-edge, nad a",
			deleted: "edge a, edge b, budget a, access, binding, role, nad b, plan, lease a, lease b", left: "oooi-edge, nad a"},
		"the plan terminates": {terminates: "plan",
			deleted: "edge a, edge b, budget a, oooi-edge, access, binding, role, nad a, nad b, lease a, lease b", left: "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var asked, deleted []string
			c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
					asked = append(asked, o.GetName())
					if slices.Contains(strings.Split(test.refused, ", "), o.GetName()) {
						return apierrors.NewForbidden(schema.GroupResource{}, o.GetName(), nil)
					}
					return nil
				}})
			objects := slices.Clone(all)
			for i := range objects {
				if slices.Contains(strings.Split(test.terminates, ", "), objects[i].Name) {
					objects[i].DeletionTimestamp = &metav1.Time{Time: time.Now()}
				}
			}
			r := Writer{Reader: gather.Reader{Store: own.Store{Client: c, Live: c, Writes: &own.Writes{}, Now: time.Now}}}
			left, err := r.prune(t.Context(), objects, func(o metav1.PartialObjectMetadata) { deleted = append(deleted, o.Name) })
			var stays []string
			for _, o := range left {
				stays = append(stays, o.Name)
			}
			g.Expect(strings.Join(deleted, ", ")).To(Equal(test.deleted))
			g.Expect(strings.Join(stays, ", ")).To(Equal(test.left))
			g.Expect(len(asked)).To(Equal(len(deleted)+len(writeErrors(err))), "what terminates is not deleted again")
			g.Expect(len(writeErrors(err)) > 0).To(Equal(test.refused != ""))
		})
	}
}

// TestStaleReports go, and DHCP leases and what edges that there are told do not.
func TestStaleReports(t *testing.T) {
	g := NewWithT(t)
	n, w := network.Network{Name: "clusters.vlan100", Edges: []network.Edge{{Number: 1}, {Number: 2}}}, gather.World{}
	lease := func(name string, labels map[string]string) {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		o.SetGroupVersionKind(own.LeaseKind)
		w.Owned = append(w.Owned, o)
	}
	lease("dhcp vlan100", wire.NetworkLabels(wire.NameDHCP, n))
	lease("dhcp gone", map[string]string{wire.LabelName: wire.NameDHCP, wire.LabelNetwork: "clusters.gone"})
	acd := wire.ACDReportLease(n)
	lease(acd.Name, acd.Labels)
	var serving, edges []string
	for _, e := range n.Edges {
		report := wire.EdgeReportLease(n, e)
		lease(report.Name, report.Labels)
		serving, edges = append(serving, report.Name), append(edges, wire.EdgeDeploymentName(n, e))
		lease("oooi-report.gone "+report.Name, map[string]string{wire.LabelName: wire.NameReport, wire.LabelNetwork: "clusters.gone", wire.LabelEdge: report.Labels[wire.LabelEdge]})
	}
	stale := func(deployments ...string) (out []string) {
		d := decide.Decision{Action: decide.Serve, Plan: network.Plan{Networks: []network.Network{n}}}
		for _, name := range deployments {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(own.DeploymentKind)
			u.SetName(name)
			d.Desired = append(d.Desired, u)
		}
		for _, o := range obsolete(w, d) {
			out = append(out, o.Name)
		}
		return out
	}
	gone := []string{"dhcp gone", "oooi-report.gone " + serving[0], "oooi-report.gone " + serving[1]}
	g.Expect(stale(edges...)).To(ConsistOf(append(gone, acd.Name)))
	g.Expect(stale(wire.ACDDeploymentName(n))).To(ConsistOf(append(gone, serving...)))
}
