package envoy

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// TestConnections: OpenSSL connects through a real Envoy. On the API server's own port, TLS is not inspected. On port 443, connections with
// unknown server names are closed and counted.
func TestConnections(t *testing.T) {
	w := newWorld(t)
	w.serves(t, blue(), pods())
	for _, c := range []struct{ name, port, serverName, want string }{
		{"the API, by address", "6443", "", "kube-apiserver, asked for nobody"},
		{"the API, by its name", "6443", "api.blue.example.com", "kube-apiserver, asked for api.blue.example.com"},
		{"the API, by the name pods use", "6443", "kubernetes.default.svc", "kube-apiserver, asked for kubernetes.default.svc"},
		{"a name of another on the API's port", "6443", "oauth.blue.example.com", "kube-apiserver, asked for oauth.blue.example.com"},
		{"a name", "443", "oauth.blue.example.com", "oauth, asked for oauth.blue.example.com"},
		{"a name in upper case", "443", "OAUTH.Blue.Example.COM", "oauth, asked for OAUTH.Blue.Example.COM"},
		{"a second name of a backend", "443", "console.blue.example.com", "ingress, asked for console.blue.example.com"},
		{"a wildcard", "443", "x.apps.blue.example.com", "ingress, asked for x.apps.blue.example.com"},
		{"a wildcard, two labels", "443", "y.x.apps.blue.example.com", "ingress, asked for y.x.apps.blue.example.com"},
		{"a wildcard's own name", "443", "apps.blue.example.com", ""},
		{"a name of nobody", "443", "other.example.com", ""},
		{"no name", "443", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := w.openssl(t, w.machine, onVLAN+":"+c.port, c.serverName)
			if c.want == "" {
				g.Expect(err).To(HaveOccurred(), got)
				g.Expect(got).To(BeEmpty())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
		})
	}
	NewWithT(t).Expect(w.counter(t, "listener."+onVLAN+"_443.no_filter_chain_match")).To(Equal("3"))
}

// TestTheFinalDotOfANameMeansNothing: a connection with a final dot in the server name reaches the backend. Here the backend is in Go,
// whose TLS rejects the dot; Envoy sends no alert.
func TestTheFinalDotOfANameMeansNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	for _, name := range []string{"oauth.blue.example.com.", "OAuth.blue.example.com.", "x.apps.blue.example.com."} {
		_, err := w.openssl(t, w.machine, onVLAN+":443", name)
		g.Expect(err).To(MatchError(ContainSubstring("alert decode error")), name)
	}
	_, err := w.openssl(t, w.machine, onVLAN+":443", "other.example.com.")
	g.Expect(err).NotTo(MatchError(ContainSubstring("alert decode error")))
	g.Expect(w.counter(t, "listener."+onVLAN+"_443.no_filter_chain_match")).To(Equal("1"))
}

// TestAPIOn443: if the API server is on port 443, it gets connections with unknown server names.
func TestAPIOn443(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	n := blue()
	n.Listeners[0].Default = api.Name
	w.serves(t, n, pods())
	for serverName, want := range map[string]string{
		"":                       "kube-apiserver, asked for nobody",
		"kubernetes.default.svc": "kube-apiserver, asked for kubernetes.default.svc",
		"oauth.blue.example.com": "oauth, asked for oauth.blue.example.com",
	} {
		got, err := w.openssl(t, w.machine, onVLAN+":443", serverName)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want))
	}
}

// split sends what is written in many small segments.
type split struct{ net.Conn }

// Write implements io.Writer.
func (s split) Write(b []byte) (int, error) {
	done := 0
	for len(b) > 0 {
		n, err := s.Conn.Write(b[:min(len(b), 40)])
		done += n
		if err != nil {
			return done, err
		}
		b = b[n:]
	}
	return done, nil
}

func TestHellosThatAreNotAsUsual(t *testing.T) {
	w := newWorld(t)
	w.serves(t, blue(), pods())
	t.Run("in many segments", func(t *testing.T) {
		g := NewWithT(t)
		u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com", func(c net.Conn) net.Conn { return split{c} })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(u.hello).To(Equal("oauth, asked for oauth.blue.example.com"))
	})
	for name, said := range map[string]string{
		"no TLS at all":                    "GET / HTTP/1.1\r\nHost: oauth.blue.example.com\r\n\r\n",
		"one that is begun and never done": "\x16\x03\x01\x02\x00\x01",
		"nothing":                          "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var c net.Conn
			var err error
			w.machine.Do(t, func() { c, err = net.Dial("tcp4", onVLAN+":443") })
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = c.Close() }()
			_, err = io.WriteString(c, said)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.SetDeadline(time.Now().Add(60 * time.Second))).To(Succeed())
			got, err := io.ReadAll(c)
			if err != nil {
				g.Expect(err).To(MatchError(ContainSubstring("connection reset")), "not the deadline: it is closed")
			}
			g.Expect(got).To(BeEmpty())
		})
	}
}

// TestOnlyTheVLANIsServed: by the weak host model, packets from any device reach the edge at all its addresses, but sockets are bound to
// the network's device. Backends are also dialed through their device, whatever the routes are.
func TestOnlyTheVLANIsServed(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	for _, at := range []string{onVLAN + ":443", onVLAN + ":6443", "10.128.0.2:6443", "192.168.100.4:6443"} {
		_, err := w.openssl(t, w.pods, at, "oauth.blue.example.com")
		g.Expect(err).To(MatchError(ContainSubstring("Connection refused")), at)
	}
	listening := w.edge.Run(t, "ss", "-Hlnt")
	g.Expect(strings.Fields(listening)).To(ContainElements(onVLAN+"%net1:443", onVLAN+"%net1:6443"))
	g.Expect(strings.Count(listening, "\n")).To(Equal(2), listening)

	// The VM claims the API server's address, and the edge routes to it.
	w.machine.Address(t, "eth0", "10.128.0.11/32")
	w.pod(t, w.machine, netip.MustParseAddrPort("10.128.0.11:7443"), "impostor")
	w.edge.Route(t, "10.128.0.11/32", "192.168.100.20")
	g.Expect(w.openssl(t, w.edge, "10.128.0.11:7443", "")).To(HavePrefix("impostor"), "what is not bound goes there")
	g.Expect(w.openssl(t, w.machine, onVLAN+":6443", "")).To(HavePrefix("kube-apiserver"))
}

// TestEnvoyNeedsNoPrivilege: Envoy needs no capability for ports below 1024 and for sockets that are bound to a device.
func TestEnvoyNeedsNoPrivilege(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.envoy.Process.Pid))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(status)).To(And(ContainSubstring("Name:\tenvoy"), ContainSubstring("CapEff:\t0000000000000000"), ContainSubstring("CapBnd:\t0000000000000000")))
}

// TestAnAddressThatComesLater: Envoy can listen at an address before the device has it.
func TestAnAddressThatComesLater(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	n := blue()
	bare := netip.MustParseAddr("203.0.113.7")
	n.Listeners = append(n.Listeners, network.Listener{Address: bare, Port: 6443, Default: api.Name})
	w.serves(t, n, pods())
	w.machine.Route(t, "203.0.113.7/32", "192.168.100.4")
	w.edge.Address(t, "net1", "203.0.113.7/32")
	g.Expect(w.openssl(t, w.machine, "203.0.113.7:6443", "")).To(HavePrefix("kube-apiserver"))
}

// TestARefusalIsSaid: an error names the listener that Envoy rejects. The other listeners serve.
func TestARefusalIsSaid(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.pod(t, w.edge, netip.MustParseAddrPort(onVLAN+":6443"), "somebody else")
	w.server.Serve(resources.New(blue(), w.options(), pods()))
	g.Eventually(w.server.Accepted, patient).Should(MatchError(And(ContainSubstring("Envoy rejected listeners"), ContainSubstring(onVLAN+":6443"))))
	names := []string{onVLAN + ":443", onVLAN + ":6443"}
	g.Expect(w.admin.Serves(t.Context(), names)).To(MatchError("Envoy does not listen on " + onVLAN + ":6443"))
	g.Expect(w.openssl(t, w.machine, onVLAN+":443", "oauth.blue.example.com")).To(HavePrefix("oauth"))
}
