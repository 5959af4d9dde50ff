package controllers

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/watch"
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
			NewWithT(t).Expect(watch.AddToScheme(scheme)).To(Succeed())
			kinds := typed{Client: api, scheme: scheme}
			r := &Reconciler{Client: kinds, Live: kinds, Metrics: report.NewMetrics(prometheus.NewRegistry()), Now: time.Now}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "clusters", Name: "x"}})
			NewWithT(t).Expect(err != nil).To(Equal(c.fails), "%v", err)
		})
	}
}

// definePools installs Calico's IPPools with one pool.
func definePools(t *testing.T, s *apiServer) (definition client.Object) {
	t.Helper()
	g := NewWithT(t)
	definition = apiserver.Objects(t, []byte(poolDefinition))[0]
	g.Expect(s.admin.Create(t.Context(), definition)).To(Succeed())
	pool := newer(t, `{"apiVersion":"crd.projectcalico.org/v1","kind":"IPPool","metadata":{"name":"pods"},"spec":{"cidr":"10.77.0.0/16"}}`)
	g.Eventually(func() error { return s.admin.Create(t.Context(), pool.DeepCopy()) }).Should(Succeed())
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
	g.Eventually(func() string { return o.plan(t) }).Should(ContainSubstring("registry.example.net"))
	g.Expect(dials()).To(BeFalse())
	g.Expect(o.admin.Delete(t.Context(), definition)).To(Succeed())
	// The API server deletes the pools before the kind: in between, it lists none.
	g.Eventually(func() error { return o.admin.Get(t.Context(), client.ObjectKeyFromObject(definition), definition) }).Should(Satisfy(apierrors.IsNotFound))
	g.Eventually(func() map[string]float64 {
		_, err := o.operator.environmentReader().Look(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return gauges(t, o.registry, "oooi_environment_read")
	}).Should(HaveKeyWithValue("IPPool.crd.projectcalico.org", 0.))
	o.annotate(t, "lease-time", "39m")
	g.Eventually(func() string { return o.plan(t) }).Should(ContainSubstring(`"leaseTime": "39m0s"`))
	g.Expect(dials()).To(BeFalse())
}
