package ads

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// A stream is the other end of a server's: an Envoy that answers when the test
// says so. It leaves out that Envoy would do anything with what it is told.
type stream struct {
	t    *testing.T
	send func(*discoveryv3.DeltaDiscoveryRequest) error
	// got is what was received, in its order.
	got chan *discoveryv3.DeltaDiscoveryResponse
	// ended is why the server ended the stream.
	ended chan error
}

func connect(t *testing.T, socket string) *stream {
	t.Helper()
	c, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(c).DeltaAggregatedResources(t.Context(), grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	out := &stream{t: t, send: s.Send, got: make(chan *discoveryv3.DeltaDiscoveryResponse, 100), ended: make(chan error, 1)}
	go func() {
		for {
			r, err := s.Recv()
			if err != nil {
				out.ended <- err
				return
			}
			out.got <- r
		}
	}()
	return out
}

func (s *stream) ask(typeURL string, names ...string) {
	s.t.Helper()
	if err := s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: names}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stream) ack(r *discoveryv3.DeltaDiscoveryResponse) {
	s.t.Helper()
	if err := s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}); err != nil {
		s.t.Fatal(err)
	}
}

// is matches a response of a type with these resources and these removed.
func is(typeURL string, names []string, removed ...string) func(*discoveryv3.DeltaDiscoveryResponse) bool {
	return func(r *discoveryv3.DeltaDiscoveryResponse) bool {
		var got []string
		for _, x := range r.GetResources() {
			got = append(got, x.GetName())
		}
		slices.Sort(got)
		return r.GetTypeUrl() == typeURL && slices.Equal(got, names) && slices.Equal(r.GetRemovedResources(), removed)
	}
}

// next is what is received next.
func (s *stream) next(want func(*discoveryv3.DeltaDiscoveryResponse) bool) *discoveryv3.DeltaDiscoveryResponse {
	s.t.Helper()
	var r *discoveryv3.DeltaDiscoveryResponse
	NewWithT(s.t).Eventually(s.got, patient).Should(Receive(&r))
	if !want(r) {
		s.t.Fatalf("received %s %v, removed %v", plural(r.GetTypeUrl()), r.GetResources(), r.GetRemovedResources())
	}
	return r
}

// TestMadeBeforeBroken: when a name moves to another backend, each response waits until Envoy has acknowledged the one before.
func TestMadeBeforeBroken(t *testing.T) {
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "oooi-envoy-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := NewServer(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	socket := filepath.Join(dir, "xds.sock")
	l, err := net.Listen("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	go func() { ended <- s.Run(ctx, l) }()
	to := func(b network.Backend) network.Network {
		return network.Network{Listeners: []network.Listener{{Address: service, Port: 443, Default: b.Name}}, Backends: []network.Backend{b}}
	}
	listener := []string{onVLAN + ":443"}

	e := connect(t, socket)
	e.ask(rtds, "levels")
	e.ask(cds)
	g.Consistently(e.got, "100ms").ShouldNot(Receive(), "an Envoy that serves would drop what it has")
	s.Serve(resources.New(to(api), resources.Options{}, nil))
	e.ack(e.next(is(rtds, []string{"levels"})))
	e.ack(e.next(is(cds, []string{api.Name})))
	e.ask(eds, api.Name)
	e.ack(e.next(is(eds, []string{api.Name})))
	e.ask(lds)
	g.Expect(s.Accepted()).NotTo(Succeed())
	e.ack(e.next(is(lds, listener)))
	g.Eventually(s.Accepted, patient).Should(Succeed())

	s.Serve(resources.New(to(oauth), resources.Options{}, nil))
	made := e.next(is(cds, []string{oauth.Name}))
	g.Consistently(e.got, "100ms").ShouldNot(Receive(), "no listener before the cluster is there")
	e.ack(made)
	e.ask(eds, oauth.Name)
	made = e.next(is(eds, []string{oauth.Name}))
	g.Consistently(e.got, "100ms").ShouldNot(Receive(), "no listener before the endpoints are there")
	e.ack(made)
	moved := e.next(is(lds, listener))
	g.Consistently(e.got, "100ms").ShouldNot(Receive(), "no cluster goes before the listener has moved")
	g.Expect(s.Accepted()).NotTo(Succeed())
	e.ack(moved)
	e.ack(e.next(is(cds, nil, api.Name)))
	g.Eventually(s.Accepted, patient).Should(Succeed())

	s.Serve(resources.New(to(oauth), resources.Options{}, nil))
	g.Consistently(e.got, "100ms").ShouldNot(Receive(), "nothing changed")
	cancel()
	g.Expect(<-ended).To(Succeed())
}
