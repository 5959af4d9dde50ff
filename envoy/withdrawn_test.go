package envoy

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cldmnky/oooi/envoy/ads"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// TestAWithdrawnBackendIsUnreachable: the server restarts with a plan without a backend, and Envoy rejects the listener without its name.
// No new connection reaches the backend. A name that moved still has its previous backend.
func TestAWithdrawnBackendIsUnreachable(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	n := blue()
	n.Backends = []network.Backend{api, other}
	n.Listeners[0].Forwards = []network.Forward{{ServerNames: []string{"console.blue.example.com"}, Backend: other.Name}}
	behind := pods()
	behind[other.Name] = behind[api.Name]
	r := resources.New(n, w.options(), behind)
	r.Listeners[onVLAN+":443"].ListenerFiltersTimeout = durationpb.New(-time.Second)

	w.stopServer()
	g.Eventually(func() string { return w.counter(t, "control_plane.connected_state") }, patient, "5ms").Should(Equal("0"))
	w.startServer(t)
	w.server.Serve(r)
	g.Eventually(w.server.Refusals, patient, "5ms").ShouldNot(BeEmpty())
	g.Eventually(func() error {
		u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
		if err == nil {
			_ = u.conn.Close()
		}
		return err
	}, patient, "100ms").ShouldNot(Succeed(), "it is withdrawn")
	u, err := w.dial(t, onVLAN+":443", "console.blue.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.hello).To(HavePrefix("ingress"))
	g.Expect(slices.ContainsFunc(w.server.Refusals(), func(r ads.Refusal) bool { return r.Type == "listener" })).To(BeTrue(), "it is still refused")
}
