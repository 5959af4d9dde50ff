package envoy

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// TestAPodMoves: new connections go to the new pod, previous ones end when the previous pod ends them, and no listener is changed.
func TestAPodMoves(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	behind := pods()
	w.serves(t, blue(), behind)
	old, err := w.dial(t, onVLAN+":6443", "")
	g.Expect(err).NotTo(HaveOccurred())
	listeners := w.counter(t, "listener_manager.lds.update_success")

	second := netip.MustParseAddrPort("10.128.0.14:7443")
	w.pod(t, w.pods, second, "second")
	behind[api.Name] = []netip.AddrPort{second}
	w.serves(t, blue(), behind)
	for range 5 {
		u, err := w.dial(t, onVLAN+":6443", "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(u.hello).To(HavePrefix("second"))
	}
	g.Expect(old.works()).To(Succeed())

	behind[api.Name] = append(behind[api.Name], pods()[api.Name]...)
	w.serves(t, blue(), behind)
	met := map[string]bool{}
	for range 8 {
		u, err := w.dial(t, onVLAN+":6443", "")
		g.Expect(err).NotTo(HaveOccurred())
		met[u.hello] = true
	}
	g.Expect(met).To(HaveLen(2), "one machine meets every replica")

	behind[api.Name] = []netip.AddrPort{}
	w.serves(t, blue(), behind)
	_, err = w.dial(t, onVLAN+":6443", "")
	g.Expect(err).To(HaveOccurred(), "no pod is ready")
	g.Expect(old.works()).To(Succeed())
	g.Expect(w.counter(t, "listener_manager.lds.update_success")).To(Equal(listeners))
}

// TestABackendThatDoesNotAnswer: the connection goes to another endpoint.
func TestABackendThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	behind := pods()
	behind[api.Name] = append(behind[api.Name], netip.MustParseAddrPort("10.128.0.14:9"))
	w.serves(t, blue(), behind)
	for range 4 {
		u, err := w.dial(t, onVLAN+":6443", "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(u.hello).To(HavePrefix("kube-apiserver"))
	}
}

// TestPlanChangesKeepConnections: names, listeners and TLS inspection change. Connections to endpoints that remain stay open.
func TestPlanChangesKeepConnections(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	stay := map[string]*tunnel{}
	for at, serverName := range map[string]string{"6443": "", "443": "oauth.blue.example.com"} {
		u, err := w.dial(t, onVLAN+":"+at, serverName)
		g.Expect(err).NotTo(HaveOccurred())
		stay[at] = u
	}
	allStay := func(when string) {
		for at, u := range stay {
			g.Expect(u.works()).To(Succeed(), "%s: the connection to %s", when, at)
		}
	}

	n := blue()
	n.Listeners[0].Forwards[0].ServerNames = append(n.Listeners[0].Forwards[0].ServerNames, "login.blue.example.com")
	w.serves(t, n, pods())
	u, err := w.dial(t, onVLAN+":443", "login.blue.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.hello).To(HavePrefix("oauth"))
	allStay("a name more")
	g.Expect(w.counter(t, "listener_manager.listener_in_place_updated")).To(Equal("1"), "filter chains are exchanged in place")

	added := network.Backend{Name: "added:1", Service: "added", Port: 1}
	n.Backends = append(n.Backends, added)
	n.Listeners = append(n.Listeners, network.Listener{Address: service, Port: 8132, Default: added.Name})
	behind := pods()
	behind[added.Name] = []netip.AddrPort{netip.MustParseAddrPort("10.128.0.14:7443")}
	w.pod(t, w.pods, behind[added.Name][0], "added")
	w.serves(t, n, behind)
	u, err = w.dial(t, onVLAN+":8132", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.hello).To(HavePrefix("added"))
	allStay("a listener more")

	n.Listeners[1].Forwards = []network.Forward{{ServerNames: []string{"named.blue.example.com"}, Backend: ingress.Name}}
	w.serves(t, n, behind)
	u, err = w.dial(t, onVLAN+":6443", "named.blue.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.hello).To(HavePrefix("ingress"))
	allStay("a port is looked into that was not")

	w.serves(t, blue(), pods())
	allStay("all of it is taken back")
	g.Eventually(func() error { _, err := w.dial(t, onVLAN+":8132", ""); return err }, patient).
		Should(MatchError(ContainSubstring("refused")), "all workers have closed it")
	_, err = w.dial(t, onVLAN+":443", "login.blue.example.com")
	g.Expect(err).To(HaveOccurred())

	w.serves(t, n, behind)
	u, err = w.dial(t, onVLAN+":8132", "")
	g.Expect(err).NotTo(HaveOccurred(), "and comes again")
	g.Expect(u.hello).To(HavePrefix("added"))
	allStay("it comes again")
}

// TestManyChanges: connections survive many additions and removals of other names. A connection that is opened during a change reaches its
// backend.
func TestManyChanges(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	var stay []*tunnel
	for i := range 20 {
		at, serverName := onVLAN+":443", "oauth.blue.example.com"
		if i%2 == 0 {
			at, serverName = onVLAN+":6443", ""
		}
		u, err := w.dial(t, at, serverName)
		g.Expect(err).NotTo(HaveOccurred())
		stay = append(stay, u)
	}
	for i := range 100 {
		n, behind := blue(), pods()
		if i%2 == 0 {
			// Where the name was before, its backend is another.
			b := network.Backend{Name: fmt.Sprintf("other-%d:443", i%6), Port: 443}
			n.Backends = append(n.Backends, b)
			n.Listeners[0].Forwards = append(n.Listeners[0].Forwards, network.Forward{ServerNames: []string{"other.example.com"}, Backend: b.Name})
			behind[b.Name] = pods()[ingress.Name]
		}
		w.server.Serve(resources.New(n, w.options(), behind))
		u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
		g.Expect(err).NotTo(HaveOccurred(), "change %d", i)
		g.Expect(u.hello).To(HavePrefix("oauth"))
		g.Eventually(w.server.Accepted, patient, "1ms").Should(Succeed())
		u, err = w.dial(t, onVLAN+":443", "other.example.com")
		if i%2 == 0 {
			g.Expect(err).NotTo(HaveOccurred(), "change %d: a listener was moved before its cluster was there", i)
			g.Expect(u.hello).To(HavePrefix("ingress"))
		} else {
			g.Expect(err).To(HaveOccurred(), "change %d", i)
		}
	}
	for i, u := range stay {
		g.Expect(u.works()).To(Succeed(), "connection %d", i)
	}
}

// TestWithoutUs: Envoy continues while the server is not running. It keeps its resources when a new server has nothing to send yet, and
// gets only changes from a server that has.
func TestWithoutUs(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	stay, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	serving := func(when string) {
		g.Expect(stay.works()).To(Succeed(), when)
		g.Expect(w.openssl(t, w.machine, onVLAN+":6443", "")).To(HavePrefix("kube-apiserver"), when)
	}
	updates := func() [3]string {
		return [3]string{
			w.counter(t, "listener_manager.lds.update_success"),
			w.counter(t, "cluster_manager.cds.update_success"),
			w.counter(t, "listener_manager.listener_modified"),
		}
	}
	before := updates()
	w.stopServer()
	g.Eventually(func() string { return w.counter(t, "control_plane.connected_state") }, patient).Should(Equal("0"))
	serving("the server is away")

	w.startServer(t)
	g.Eventually(func() string { return w.counter(t, "control_plane.connected_state") }, patient).Should(Equal("1"))
	serving("the server has nothing to say yet")
	g.Expect(w.server.Accepted()).To(MatchError("there is no configuration for Envoy yet"))

	second := netip.MustParseAddrPort("10.128.0.14:7443")
	w.pod(t, w.pods, second, "second")
	behind := pods()
	behind[api.Name] = []netip.AddrPort{second}
	w.serves(t, blue(), behind)
	g.Eventually(func() (string, error) { return w.openssl(t, w.machine, onVLAN+":6443", "") }, patient).Should(HavePrefix("second"))
	g.Expect(stay.works()).To(Succeed())
	after := updates()
	g.Expect(after[2]).To(Equal(before[2]), "no listener was made anew")
}
