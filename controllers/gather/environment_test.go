package gather

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cldmnky/oooi/controllers/environment"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/metrics"
)

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
	api := interceptor.NewClient(fake.NewClientBuilder().WithRESTMapper(meta.NewDefaultRESTMapper(nil)).Build(), interceptor.Funcs{
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
	shared := environment.Reader{Store: &environment.Store{}, Cached: api, Live: api, Metrics: metrics.Register(prometheus.NewRegistry(), metrics.Operator), Now: time.Now}
	r := Reader{Store: own.Store{Client: api}, Shared: shared}
	observed := func(these ...corev1.Service) []string {
		w := World{}
		w.Services = these
		g.Expect(r.readEnvironment(t.Context(), &w)).To(Succeed())
		var out []string
		for _, a := range w.Management.Observed {
			out = append(out, a.String())
		}
		return out
	}
	g.Expect(observed()).To(ConsistOf("198.51.100.7"))
	g.Expect(observed(tenants)).To(ConsistOf("198.51.100.7", "151.101.1.1"))
	services[0].Spec.ExternalIPs = []string{"151.101.2.2"}
	g.Expect(shared.Look(t.Context())).To(BeFalse(), "no other cluster is reconciled for it")
}
