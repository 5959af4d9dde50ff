package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
)

// poolDefinition defines Calico's IPPools as the operator needs them.
const poolDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ippools.crd.projectcalico.org}
spec:
  group: crd.projectcalico.org
  names: {kind: IPPool, listKind: IPPoolList, plural: ippools, singular: ippool}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// typed is a client that knows kinds.
type typed struct {
	client.Client
	mapper meta.RESTMapper
	scheme *runtime.Scheme
}

func (c typed) RESTMapper() meta.RESTMapper { return c.mapper }

func (c typed) Scheme() *runtime.Scheme { return c.scheme }

// TestEnvironmentSources: one source that cannot be read takes nothing from what is known, and stops no
// other. A kind that never existed is no fault.
func TestEnvironmentSources(t *testing.T) {
	g := NewWithT(t)
	const kind = "IPPool"
	pool := newer(t, `{"spec":{"cidr":"10.77.0.0/16"}}`)
	var objects []unstructured.Unstructured
	var listed, got error
	api := interceptor.NewClient(nil, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if u, ok := list.(*unstructured.UnstructuredList); ok && u.GetKind() == kind+"List" {
				u.Items = objects
				return listed
			}
			return nil
		},
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return got
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("denied")
		},
	})
	registry, mapper := prometheus.NewRegistry(), meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "crd.projectcalico.org", Version: "v3"}})
	r := &Reconciler{Client: typed{Client: api, mapper: mapper}, Live: api, Metrics: NewMetrics(registry), Now: time.Now}
	read := func() environment {
		g.Expect(r.readEnvironment(t.Context())).To(Succeed())
		e, ok := r.environment.current()
		g.Expect(ok).To(BeTrue())
		return e
	}
	isRead := func() map[string]float64 { return gauges(t, registry, "oooi_environment_read") }
	name, removed := "IPPool.crd.projectcalico.org", apierrors.NewNotFound(schema.GroupResource{}, "")
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right"))

	listed = removed
	g.Expect(read().networks).To(BeEmpty(), "its definition was removed before anything was known")
	g.Expect(isRead()).To(And(HaveKeyWithValue(name, 1.), HaveKeyWithValue("PriorityClass", 1.)))
	g.Expect(read().priorityClass).To(Equal(priorityClass))

	listed, objects = nil, []unstructured.Unstructured{*pool}
	g.Expect(read().networks).To(HaveLen(1))
	objects, got = nil, forbidden
	for what, err := range map[string]error{"removed": removed, "forbidden": forbidden, "not known any more": &meta.NoKindMatchError{}} {
		listed = err
		e := read()
		g.Expect(e.networks).To(HaveLen(1), what)
		g.Expect(e.priorityClass).To(Equal(priorityClass))
		g.Expect(isRead()).To(And(HaveKeyWithValue(name, 0.), HaveKeyWithValue("PriorityClass", 0.)), what)
	}
	listed, got = nil, removed
	e := read()
	g.Expect(e.networks).To(BeEmpty(), "the pools were deleted, not their kind")
	g.Expect(e.priorityClass).To(BeEmpty())
	g.Expect(isRead()).To(And(HaveKeyWithValue(name, 1.), HaveKeyWithValue("PriorityClass", 1.)))

	mapper.Add(schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v3", Kind: kind}, meta.RESTScopeRoot)
	r.environment = environmentStore{}
	listed = &meta.NoKindMatchError{}
	g.Expect(read().unread).To(ContainElement(name), "it exists in a version that is not known")
	g.Expect(isRead()).To(HaveKeyWithValue(name, 0.))
}

// TestUnknownSourceAtTheStart: an operator that cannot read a source since it started lets edges dial
// nothing that the plan in force forbids, and recreates no edge for it.
func TestUnknownSourceAtTheStart(t *testing.T) {
	g := NewWithT(t)
	within := netip.MustParsePrefix("10.77.0.0/16")
	w := world{last: network.Plan{Networks: []network.Network{{
		ReservedDestinations: []netip.Prefix{within}, Placement: network.Placement{PriorityClass: priorityClass}}}}}
	w.Objects = hcp.Objects{}
	r := &Reconciler{Now: time.Now}
	for _, c := range []struct {
		unread []string
		known  int
		class  string
	}{{[]string{"IPPool"}, 1, priorityClass}, {nil, 0, ""}} {
		r.environment.replace(environment{unread: c.unread})
		w.Management = hcp.Management{}
		g.Expect(r.gatherEnvironment(t.Context(), &w)).To(Succeed())
		g.Expect(w.Management.Networks).To(HaveLen(c.known))
		g.Expect(w.Management.PriorityClass).To(Equal(c.class))
	}
}

// TestNotFoundIsNotGone: a read of something else that ends in NotFound is a fault of the pass.
func TestNotFoundIsNotGone(t *testing.T) {
	for name, c := range map[string]struct {
		exists, fails bool
	}{"the hosted cluster": {false, false}, "anything else": {true, true}} {
		t.Run(name, func(t *testing.T) {
			missing := apierrors.NewNotFound(schema.GroupResource{}, "")
			api := interceptor.NewClient(nil, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
					if _, ok := o.(*lenient.HostedCluster); !ok || !c.exists {
						return missing
					}
					return json.Unmarshal([]byte(`{"metadata":{"namespace":"clusters","name":"x","annotations":{"oooi.densityops.com/network":"auto"}}}`), o)
				},
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return missing },
			})
			scheme := runtime.NewScheme()
			NewWithT(t).Expect(AddToScheme(scheme)).To(Succeed())
			kinds := typed{Client: api, scheme: scheme}
			r := &Reconciler{Client: kinds, Live: kinds, Metrics: NewMetrics(prometheus.NewRegistry()), Now: time.Now}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "clusters", Name: "x"}})
			NewWithT(t).Expect(err != nil).To(Equal(c.fails), "%v", err)
		})
	}
}

// TestExternalIPsOfTenants: an external IP of a Service in a control plane namespace changes nothing for other
// hosted clusters. Edges of its own cluster do not dial it.
func TestExternalIPsOfTenants(t *testing.T) {
	g := NewWithT(t)
	service := func(ns, address string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "x"}, Spec: corev1.ServiceSpec{ExternalIPs: []string{address}}}
	}
	tenants := service("clusters-tenant", "151.101.1.1")
	services := []corev1.Service{tenants, service("monitoring", "198.51.100.7")}
	missing := apierrors.NewNotFound(schema.GroupResource{}, "")
	api := interceptor.NewClient(nil, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			switch l := list.(type) {
			case *corev1.ServiceList:
				l.Items = services
			case *lenient.HostedClusterList:
				hc := lenient.HostedCluster{}
				g.Expect(json.Unmarshal([]byte(`{"metadata":{"namespace":"clusters","name":"tenant"}}`), &hc)).To(Succeed())
				l.Items = append(l.Items, hc)
			}
			return nil
		},
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return missing
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("denied")
		},
	})
	r := &Reconciler{Client: typed{Client: api, mapper: meta.NewDefaultRESTMapper(nil)}, Live: api, Metrics: NewMetrics(prometheus.NewRegistry()), Now: time.Now}
	observed := func(own ...corev1.Service) []string {
		w := world{}
		w.Services = own
		g.Expect(r.gatherEnvironment(t.Context(), &w)).To(Succeed())
		var out []string
		for _, a := range w.Management.Observed {
			out = append(out, a.String())
		}
		return out
	}
	g.Expect(observed()).To(ConsistOf("198.51.100.7"))
	g.Expect(observed(tenants)).To(ConsistOf("198.51.100.7", "151.101.1.1"))
	services[0].Spec.ExternalIPs = []string{"151.101.2.2"}
	g.Expect((&environmentKeeper{Reconciler: r}).look(t.Context())).To(BeFalse(), "no other cluster is reconciled for it")
}

// definePools installs Calico's IPPools with one pool.
func definePools(t *testing.T, s *apiServer) (definition client.Object) {
	t.Helper()
	g := NewWithT(t)
	definition = apiserver.Objects(t, []byte(poolDefinition))[0]
	g.Expect(s.admin.Create(t.Context(), definition)).To(Succeed())
	pool := newer(t, `{"apiVersion":"crd.projectcalico.org/v1","kind":"IPPool","metadata":{"name":"pods"},"spec":{"cidr":"10.77.0.0/16"}}`)
	g.Eventually(func() error { return s.admin.Create(t.Context(), pool.DeepCopy()) }).WithTimeout(patience).Should(Succeed())
	return definition
}

// testManagementKindVanishes: the kind of the pods' networks is removed while the operator runs. Edges
// still dial none of them, and changes reach the plan.
func testManagementKindVanishes(t *testing.T, o observed, definition client.Object) {
	g := NewWithT(t)
	dials := func() bool {
		plan, err := network.ReadPlan([]byte(o.plan(t)))
		g.Expect(err).NotTo(HaveOccurred())
		return plan.Networks[0].MayDial(netip.MustParseAddr("10.77.1.1"))
	}
	o.annotate(t, "allowed-hosts", "auto,registry.example.net")
	g.Eventually(func() string { return o.plan(t) }).WithTimeout(patience).Should(ContainSubstring("registry.example.net"))
	g.Expect(dials()).To(BeFalse())
	g.Expect(o.admin.Delete(t.Context(), definition)).To(Succeed())
	// The API server deletes the pools before the kind: in between, it lists none.
	g.Eventually(func() error { return o.admin.Get(t.Context(), client.ObjectKeyFromObject(definition), definition) }).
		WithTimeout(patience).Should(Satisfy(apierrors.IsNotFound))
	g.Eventually(func() map[string]float64 {
		_, err := (&environmentKeeper{Reconciler: o.operator}).look(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return gauges(t, o.registry, "oooi_environment_read")
	}).WithTimeout(patience).Should(HaveKeyWithValue("IPPool.crd.projectcalico.org", 0.))
	o.annotate(t, "lease-time", "39m")
	g.Eventually(func() string { return o.plan(t) }).WithTimeout(patience).Should(ContainSubstring(`"leaseTime": "39m0s"`))
	g.Expect(dials()).To(BeFalse())
}
