package ads

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// serving is a server of resources, and its socket.
func serving(t *testing.T, said io.Writer) (socket string) {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "oooi-envoy-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := NewServer(slog.New(slog.NewTextHandler(said, nil)))
	s.Serve(resources.New(network.Network{}, resources.Options{}, nil))
	socket = filepath.Join(dir, "xds.sock")
	l, err := net.Listen("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _ = s.Run(t.Context(), l) }()
	return socket
}

// names are n invented ones that begin with start.
func names(start string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%06d", start, i))
	}
	return out
}

// TestHostileEnvoyFillsNoMemory: an Envoy that a VM took over invents types and names, and the proxy
// ends the stream before they fill its memory.
func TestHostileEnvoyFillsNoMemory(t *testing.T) {
	versions := func(names []string) map[string]string {
		out := map[string]string{}
		for _, name := range names {
			out[name] = ""
		}
		return out
	}
	for name, c := range map[string]struct {
		ends    codes.Code
		request func(i int) *discoveryv3.DeltaDiscoveryRequest
	}{
		"an invented type": {codes.InvalidArgument, func(i int) *discoveryv3.DeltaDiscoveryRequest {
			return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: fmt.Sprintf("type.googleapis.com/x%d", i)}
		}},
		"names that it has": {codes.ResourceExhausted, func(int) *discoveryv3.DeltaDiscoveryRequest {
			return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, InitialResourceVersions: versions(names("has", 120_000))}
		}},
		"names that it wants, a few at a time": {codes.ResourceExhausted, func(i int) *discoveryv3.DeltaDiscoveryRequest {
			return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: eds, ResourceNamesSubscribe: names(fmt.Sprint(i), 1000)}
		}},
		"names that it wants no more": {codes.ResourceExhausted, func(i int) *discoveryv3.DeltaDiscoveryRequest {
			few := names(fmt.Sprint(i), 1000)
			return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: lds, ResourceNamesSubscribe: few, ResourceNamesUnsubscribe: few}
		}},
		"one long name": {codes.ResourceExhausted, func(int) *discoveryv3.DeltaDiscoveryRequest {
			return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: lds, ResourceNamesSubscribe: []string{strings.Repeat("x", 3<<20)}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := connect(t, serving(t, io.Discard))
			for i := range 200 {
				if e.send(c.request(i)) != nil {
					break
				}
			}
			var ended error
			g.Eventually(e.ended, patient).Should(Receive(&ended))
			g.Expect(status.Code(ended)).To(Equal(c.ends), "%v", ended)
		})
	}
}

// TestHostileEnvoyHoldsFewStreams: Envoy has few streams, however often it connects. The state-of-the-world protocol, which has no limits
// here, is not served.
func TestHostileEnvoyHoldsFewStreams(t *testing.T) {
	g := NewWithT(t)
	said := gbytes.NewBuffer()
	socket := serving(t, said)
	for range 2 {
		connect(t, socket)
	}
	g.Eventually(said, patient).Should(gbytes.Say("(?s)Envoy connected.*Envoy connected"))
	raw, err := net.Dial("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = raw.Close() }()
	got := make(chan int, 1)
	go func() {
		n, _ := raw.Read(make([]byte, 1))
		got <- n
	}()
	g.Consistently(got, "300ms").ShouldNot(Receive(), "a third connection is not accepted")

	c, err := grpc.NewClient("unix://"+serving(t, io.Discard), grpc.WithTransportCredentials(insecure.NewCredentials()))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	world, err := discoveryv3.NewAggregatedDiscoveryServiceClient(c).StreamAggregatedResources(t.Context(), grpc.WaitForReady(true))
	g.Expect(err).NotTo(HaveOccurred())
	_ = world.Send(&discoveryv3.DiscoveryRequest{TypeUrl: "x"})
	_, err = world.Recv()
	g.Expect(status.Code(err)).To(Equal(codes.Unimplemented), "%v", err)
}

// TestHostileEnvoyIsQuotedBriefly: the log and the condition contain only the beginning of the text of a rejection.
func TestHostileEnvoyIsQuotedBriefly(t *testing.T) {
	g := NewWithT(t)
	said := gbytes.NewBuffer()
	e := connect(t, serving(t, said))
	refuse := func(nonce string) {
		g.Expect(e.send(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: rtds, ResponseNonce: nonce, ErrorDetail: status.New(codes.Internal, strings.Repeat("é", 1<<19)).Proto(),
		})).To(Succeed())
	}
	e.ask(rtds, "levels")
	sent := e.next(is(rtds, []string{"levels"}))
	for range 3 {
		refuse("invented")
	}
	refuse(sent.GetNonce())
	g.Eventually(said, patient).Should(gbytes.Say("Envoy rejected resources.*\n"))
	g.Expect(len(said.Contents())).To(BeNumerically("<", 4<<10), "one line for each response")
}
