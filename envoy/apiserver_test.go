package envoy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// TestAnAPIServerLogsNoCheck: a real API server is healthy, and logs nothing about health checks at the log level that HyperShift sets. If
// Envoy gives up a check during its handshake, the API server may log that.
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
	w.carry(t, w.pods, at, u.Host)
	behind := pods()
	behind[api.Name] = []netip.AddrPort{at}
	client, err := rest.HTTPClientFor(env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	errors := func() int { return handshakeErrors(g, client, u.JoinPath("metrics").String()) }
	c, err := net.Dial("tcp4", u.Host)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Close()).To(Succeed())
	g.Eventually(errors, patient).ShouldNot(BeZero(), "a TCP check is counted")
	counted := errors()
	before := len(log.String())
	w.serves(t, blue(), behind)
	checks := func(outcome string) int { return w.count(t, "cluster.kube-apiserver_6443.health_check."+outcome) }
	g.Eventually(checks, patient).WithArguments("success").Should(BeNumerically(">", 10))
	g.Eventually(w.counter, patient).WithArguments(t, "cluster.kube-apiserver_6443.membership_healthy").Should(Equal("1"))
	counted, logged := errors()-counted, strings.SplitAfter(log.String()[before:], "\n")
	logged = slices.DeleteFunc(logged, func(line string) bool { return !aboutChecks.MatchString(line) })
	givenUp := checks("network_failure") // Counted before the API server notices it.
	g.Expect(counted).To(BeNumerically("<=", givenUp))
	g.Expect(len(logged)).To(BeNumerically("<=", givenUp), "%q", logged)
}

// aboutChecks are the lines that an API server may log about a check.
var aboutChecks = regexp.MustCompile("TLS|handshake|EOF|readyz")

// handshakeErrors is how many TLS handshakes failed, by the API server's metric.
func handshakeErrors(g *WithT, client *http.Client, at string) (count int) {
	answer, err := client.Get(at)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "apiserver_tls_handshake_errors_total "); ok {
			count, err = strconv.Atoi(n)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	return count
}

// carry accepts connections in n, and carries them to an address of this process's own namespace.
func (w *world) carry(t *testing.T, n *netns.Namespace, at netip.AddrPort, to string) {
	t.Helper()
	var l net.Listener
	var err error
	n.Do(t, func() { l, err = net.Listen("tcp4", at.String()) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp4", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
}
