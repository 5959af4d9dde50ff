package envoy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// TestAnAPIServerLogsNoCheck: a real API server is healthy, and logs nothing about the checks. It logs as much as
// HyperShift's.
func TestAnAPIServerLogsNoCheck(t *testing.T) {
	g := NewWithT(t)
	var log programs.Output
	env, _ := apiserver.Run(t, func(env *envtest.Environment) {
		server := env.ControlPlane.GetAPIServer()
		server.Out, server.Err = &log, &log
		server.Configure().Set("v", "2")
	})
	u, err := url.Parse(env.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())

	w := newWorld(t)
	at := netip.MustParseAddrPort("10.128.0.14:6443")
	checks := w.carry(t, w.pods, at, u.Host)
	behind := pods()
	behind[api.Name] = []netip.AddrPort{at, pods()[oauth.Name][0]}
	client, err := rest.HTTPClientFor(env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	errors := func() string { return handshakeErrors(g, client, u.JoinPath("metrics").String()) }
	c, err := net.Dial("tcp4", u.Host)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Close()).To(Succeed())
	g.Eventually(errors, patient).ShouldNot(BeEmpty(), "a TCP check is counted")
	counted := errors()
	before := len(log.String())
	w.serves(t, blue(), behind)
	healthy := func() string { return w.counter(t, "cluster.kube-apiserver_6443.membership_healthy") }
	g.Eventually(healthy, patient).Should(Equal("1"), "one is an API server, the other is none")
	g.Eventually(checks, patient).Should(BeNumerically(">", 10))
	g.Expect(healthy()).To(Equal("1"))
	g.Expect(errors()).To(Equal(counted))
	for line := range strings.Lines(log.String()[before:]) {
		g.Expect(line).NotTo(Or(ContainSubstring("TLS"), ContainSubstring("handshake"), ContainSubstring("EOF"), ContainSubstring("readyz")))
	}
}

// handshakeErrors is the line of the API server's metric, empty if there was no error.
func handshakeErrors(g *WithT, client *http.Client, at string) string {
	answer, err := client.Get(at)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "apiserver_tls_handshake_errors_total ") {
			return strings.TrimSuffix(lines.Text(), "apiserver_tls_handshake_errors_total 0")
		}
	}
	return ""
}

// carry accepts connections in n, and carries them to an address of this process's own namespace. Count is how many.
func (w *world) carry(t *testing.T, n *netns.Namespace, at netip.AddrPort, to string) (count func() int) {
	t.Helper()
	var l net.Listener
	var err error
	n.Do(t, func() { l, err = net.Listen("tcp4", at.String()) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	var mu sync.Mutex
	carried := 0
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			carried++
			mu.Unlock()
			out, err := net.Dial("tcp4", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return func() int { mu.Lock(); defer mu.Unlock(); return carried }
}
