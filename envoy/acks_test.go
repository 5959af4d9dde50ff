package envoy

import (
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	lds = resourcev3.ListenerType
	cds = resourcev3.ClusterType
	eds = resourcev3.EndpointType
)

func told(h *acks, typeURL, nonce string, names map[string]string, removed ...string) {
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURL, Nonce: nonce, RemovedResources: removed}
	for n, v := range names {
		r.Resources = append(r.Resources, &discoveryv3.Resource{Name: n, Version: v})
	}
	h.sent(1, r)
}

func answer(h *acks, typeURL, nonce, refused string) {
	r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResponseNonce: nonce}
	if refused != "" {
		r.ErrorDetail = status.New(codes.Internal, refused).Proto()
	}
	_ = h.requested(1, r)
}

func TestWhatEnvoyHoldsIsWhatItAnsweredFor(t *testing.T) {
	g := NewWithT(t)
	want := versions{cds: {"api": "1"}, eds: {"api": "e1"}, lds: {"443": "l1"}}
	h := newAcks()
	g.Expect(h.answered(want)).To(BeTrue(), "nobody to wait for")
	g.Expect(h.accepted(want)).To(MatchError(errNoEnvoy))

	h.opened(1)
	g.Expect(h.answered(want)).To(BeFalse())
	g.Expect(h.requested(1, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds})).To(Succeed())
	told(h, cds, "1", map[string]string{"api": "1"})
	answer(h, cds, "1", "")
	g.Expect(h.requested(1, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: eds, ResourceNamesSubscribe: []string{"api"}})).To(Succeed())
	told(h, eds, "2", map[string]string{"api": "e1"})
	answer(h, eds, "2", "")
	g.Expect(h.requested(1, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: lds})).To(Succeed())
	told(h, lds, "3", map[string]string{"443": "l1"})
	g.Expect(h.answered(want)).To(BeFalse(), "sent, and not answered")
	g.Expect(h.accepted(want)).To(MatchError(errNotYet))
	answer(h, lds, "3", "")
	g.Expect(h.answered(want)).To(BeTrue())
	g.Expect(h.accepted(want)).To(Succeed())

	told(h, lds, "4", map[string]string{"443": "l2"})
	answer(h, lds, "4", "443: no such device")
	want = versions{cds: {"api": "1"}, eds: {"api": "e1"}, lds: {"443": "l2"}}
	g.Expect(h.answered(want)).To(BeTrue(), "refused is an answer: the next step need not wait")
	g.Expect(h.accepted(want)).To(MatchError("Envoy rejected listeners: 443: no such device"))

	told(h, lds, "5", nil, "443")
	answer(h, lds, "5", "")
	g.Expect(h.accepted(versions{cds: {"api": "1"}, eds: {"api": "e1"}, lds: {}})).To(Succeed(), "what was refused is gone")

	told(h, cds, "6", nil, "api")
	answer(h, cds, "6", "")
	g.Expect(h.requested(1, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: eds, ResourceNamesUnsubscribe: []string{"api"}})).To(Succeed())
	g.Expect(h.accepted(versions{cds: {}, eds: {}, lds: {}})).To(Succeed())

	h.closed(1)
	g.Expect(h.accepted(versions{})).To(MatchError(errNoEnvoy))
}

// TestAnEnvoyThatComesAgainSaysWhatItHas: nothing is sent, and nothing is missing.
func TestAnEnvoyThatComesAgainSaysWhatItHas(t *testing.T) {
	g := NewWithT(t)
	want := versions{cds: {"api": "1"}, eds: {"api": "e1"}, lds: {"443": "l1"}}
	h := newAcks()
	h.opened(1)
	for typeURL, v := range want {
		g.Expect(h.requested(1, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, InitialResourceVersions: v})).To(Succeed())
	}
	g.Expect(h.accepted(want)).To(Succeed())
	g.Expect(h.accepted(versions{cds: {"api": "2"}, eds: {"api": "e1"}, lds: {"443": "l1"}})).To(MatchError(errNotYet))
}
