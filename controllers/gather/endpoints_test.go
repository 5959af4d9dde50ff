package gather

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/hcp/lenient"
)

// TestManualEndpointsOfManyServices: one request reads the endpoints of many Services without a selector.
func TestManualEndpointsOfManyServices(t *testing.T) {
	g := NewWithT(t)
	w := World{Binding: &metav1.PartialObjectMetadata{}}
	hc := &lenient.HostedCluster{}
	g.Expect(hc.UnmarshalJSON([]byte(`{"metadata":{"namespace":"clusters","name":"blue"}}`))).To(Succeed())
	w.SetHostedCluster(hc)
	port := int32(5000)
	api := fake.NewClientBuilder()
	for i := range 200 {
		name := fmt.Sprintf("s%d", i)
		w.Services = append(w.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name}})
		api.WithObjects(&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("192.0.2.%d", i)}}},
			Ports:      []discoveryv1.EndpointPort{{Port: &port}},
		})
	}
	lists := 0
	live := interceptor.NewClient(api.Build(), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		lists++
		return c.List(ctx, list, opts...)
	}})
	g.Expect(Reader{Store: own.Store{Client: live, Live: live}}.gatherEndpoints(t.Context(), &w)).To(Succeed())
	g.Expect(lists).To(Equal(1))
	g.Expect(w.ByHand).To(HaveLen(200))
	g.Expect(w.ByHand).To(HaveKeyWithValue(desired.ServicePort{Service: "s7"}, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.7:5000")}))
}
