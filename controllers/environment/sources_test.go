package environment

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	invalid "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

// mapped is a client that knows kinds.
type mapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (c mapped) RESTMapper() meta.RESTMapper { return c.mapper }

// value is what a gauge shows.
func value(t *testing.T, gauge prometheus.Gauge) float64 {
	t.Helper()
	m := &dto.Metric{}
	NewWithT(t).Expect(gauge.Write(m)).To(Succeed())
	return m.GetGauge().GetValue()
}

// TestEnvironmentSources: one source that cannot be read changes nothing of what is known, and stops no
// other. A kind that never existed is not a fault.
func TestEnvironmentSources(t *testing.T) {
	g := NewWithT(t)
	const kind = "IPPool"
	pool := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"cidr": "10.77.0.0/16"}}}
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
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "crd.projectcalico.org", Version: "v3"}})
	set := metrics.Register(prometheus.NewRegistry(), metrics.Operator)
	r := Reader{Store: &Store{}, Cached: mapped{api, mapper}, Live: api, Metrics: set, Now: time.Now}
	read := func() Environment {
		e, err := r.read(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return e
	}
	isRead := func(source string) float64 {
		return value(t, set.Gauge(metrics.EnvironmentRead).WithLabelValues(source))
	}
	name, removed := "IPPool.crd.projectcalico.org", apierrors.NewNotFound(schema.GroupResource{}, "")
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right"))

	listed = removed
	g.Expect(read().Networks).To(BeEmpty(), "its definition was removed before anything was known")
	g.Expect([]float64{isRead(name), isRead("PriorityClass")}).To(HaveEach(1.))
	g.Expect(read().PriorityClass).To(Equal(management.PriorityClass))

	listed, objects = nil, []unstructured.Unstructured{pool}
	g.Expect(read().Networks).To(HaveLen(1))
	objects, got = nil, forbidden
	for what, err := range map[string]error{"removed": removed, "forbidden": forbidden, "not known any more": &meta.NoKindMatchError{}} {
		listed = err
		e := read()
		g.Expect(e.Networks).To(HaveLen(1), what)
		g.Expect(e.PriorityClass).To(Equal(management.PriorityClass))
		g.Expect([]float64{isRead(name), isRead("PriorityClass")}).To(HaveEach(0.), what)
	}
	listed, got = nil, removed
	e := read()
	g.Expect(e.Networks).To(BeEmpty(), "the pools were deleted, not their kind")
	g.Expect(e.PriorityClass).To(BeEmpty())
	g.Expect([]float64{isRead(name), isRead("PriorityClass")}).To(HaveEach(1.))

	mapper.Add(schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v3", Kind: kind}, meta.RESTScopeRoot)
	r.Store = &Store{}
	listed = &meta.NoKindMatchError{}
	g.Expect(read().unread).To(ContainElement(name), "it exists in a version that is not known")
	g.Expect(isRead(name)).To(BeZero())
}

// TestUnknownSourceAtTheStart: an operator that cannot read a source since it started lets edges dial
// nothing that the plan in force forbids, and recreates no edge for it.
func TestUnknownSourceAtTheStart(t *testing.T) {
	last := network.Plan{Networks: []network.Network{{
		ReservedDestinations: []netip.Prefix{netip.MustParsePrefix("10.77.0.0/16")}, Placement: network.Placement{PriorityClass: management.PriorityClass}}}}
	g := NewWithT(t)
	unknown, known := Environment{unread: []string{"IPPool"}}.With(last), Environment{}.With(last)
	g.Expect(unknown.Networks).To(HaveLen(1))
	g.Expect(unknown.PriorityClass).To(Equal(management.PriorityClass))
	g.Expect(known).To(Equal(Environment{}))
}

// TestUnknownServiceRange: an API server that does not name the range is no silent gap. A range that
// was named is not asked for all the time, and stays known.
func TestUnknownServiceRange(t *testing.T) {
	g := NewWithT(t)
	set, refusal, asked := metrics.Register(prometheus.NewRegistry(), metrics.Operator), "denied", 0
	api := interceptor.NewClient(nil, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			asked++
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", invalid.ErrorList{invalid.Invalid(invalid.NewPath("spec"), "0.0.0.1", refusal)})
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return nil
		},
	})
	now := time.Unix(1e9, 0)
	r := Reader{Store: &Store{}, Cached: api, Live: api, Metrics: set, Now: func() time.Time { return now }}
	known := func() float64 { return value(t, set.Gauge(metrics.ServiceRangeKnown).WithLabelValues()) }
	read := func() []network.ReservedDestination {
		defer r.reportSources(t.Context())
		return r.managementNetworks(t.Context())
	}
	g.Expect(read()).To(BeEmpty())
	g.Expect(known()).To(BeZero())

	refusal = "the range of valid IPs is 10.96.0.0/12"
	for range 3 {
		g.Expect(read()).To(ConsistOf(HaveField("Prefix.String()", "10.96.0.0/12")))
	}
	g.Expect(known()).To(Equal(1.0))
	g.Expect(asked).To(Equal(2), "it is known")
	now, refusal = now.Add(serviceRangeWithin), "denied"
	networks := read()
	g.Expect(asked).To(Equal(3))
	g.Expect(networks).To(HaveLen(1), "what was known stays")
}
