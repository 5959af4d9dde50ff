// This file shows what a machine takes for an answer, and that it trusts the
// user-data's authority alone.

package machine

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/patience"
)

// tlsServer answers requests with a token as HyperShift's Ignition server does while it renders, 511 at first and
// then 200, and others 401, on the loopback of m; it gives its URL and authority.
func tlsServer(t *testing.T, m *Machine) (*url.URL, []byte) {
	t.Helper()
	g := NewWithT(t)
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		if asked.Add(1) == 1 {
			http.Error(w, "Token not found", http.StatusNetworkAuthenticationRequired)
			return
		}
		_, _ = w.Write([]byte("the configuration"))
	}))
	g.Expect(m.Inside(func() (err error) {
		_ = server.Listener.Close()
		server.Listener, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	})).To(Succeed())
	server.StartTLS()
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/ignition")
	g.Expect(err).NotTo(HaveOccurred())
	return u, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestAskIgnition(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "ask")
	u, ca := tlsServer(t, m)

	with, without, err := m.AskIgnition(t.Context(), UserData{Source: u, CA: ca, Headers: []Header{{"Authorization", "Bearer s3cret"}}}, patience.Limit)

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(with.Status).To(Equal(200), "the machine asks again after 511")
	g.Expect(with.Body).To(Equal("the configuration"))
	g.Expect(with.Server).To(Equal(netip.MustParseAddr("127.0.0.1")))
	g.Expect(with.TLS).To(BeNumerically(">=", with.Connect))
	g.Expect(without.Status).To(Equal(401))
}

func TestAskTrustsOneAuthority(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "trust")
	u, _ := tlsServer(t, m)
	_, other := tlsServer(t, m)
	other[len(other)/2] ^= 1 // no certificate any more
	_, err := m.Ask(t.Context(), u.String(), nil, other)
	g.Expect(err).To(MatchError(ContainSubstring("curl")))
}

func TestProxyOffersTheAPIOnTheLoopback(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "proxy")
	u, _ := tlsServer(t, m)
	g.Expect(m.StartProxy(Payload{
		haproxySetup: []byte("ip addr add 172.20.0.1/32 brd 172.20.0.1 scope host dev lo\n"),
		haproxyConf: fmt.Appendf(nil, "defaults\n  mode tcp\n  timeout connect 10s\n  timeout client 10m\n  timeout server 10m\n"+
			"frontend local\n  bind %s\n  default_backend remote\nbackend remote\n  server controlplane %s\n", InternalAPI, u.Host),
	})).To(Succeed())
	g.Eventually(func() (Answer, error) {
		// the certificate is for another address, and the server is still reached
		out, err := m.Output(t.Context(), "curl", "--silent", "--insecure", "--write-out", curlReport, "https://"+InternalAPI+"/")
		if err != nil {
			return Answer{}, err
		}
		return parseAnswer(string(out))
	}).Should(And(HaveField("Status", 401), HaveField("Server.String()", "172.20.0.1")))
}
