package envoy

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
)

// TestANewServerStartsInSteps: a name moves to another backend, and its previous one is gone, while no server
// runs. Connections that VMs open while the new server sends this to Envoy all work.
func TestANewServerStartsInSteps(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	n, behind := blue(), pods()
	for range 10 {
		w.stopServer()
		g.Eventually(func() string { return w.counter(t, "control_plane.connected_state") }, patient).Should(Equal("0"))
		if len(n.Backends) == len(blue().Backends) {
			n = moved()
		} else {
			n = blue()
		}
		w.startServer(t)
		w.server.Serve(resources.New(n, w.options(), behind))
		for done := false; !done; {
			done = w.server.Accepted() == nil
			u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(u.conn.Close()).To(Succeed()) // All that are open count to the share of this VM.
		}
	}
	u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.hello).To(HavePrefix("oauth"))
}
