package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// TestAccessWithRealClients: curl, Python's urllib and OpenBSD's nc, as OpenSSH uses it, reach a VM through the access proxy.
func TestAccessWithRealClients(t *testing.T) {
	d := newDoor(t)
	d.open(t, network.AccessDestination{Name: "nodes", Port: 443}, network.AccessDestination{Name: "nodes", Port: 22})
	certificate := selfSigned(t, "worker-1")
	d.machine.Serve(t, "0.0.0.0:443", func(c net.Conn) {
		secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}})
		_ = secure.SetDeadline(time.Now().Add(patience.Limit))
		if _, err := secure.Read(make([]byte, 4096)); err == nil {
			_, _ = io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
			_ = secure.Close()
		}
	})
	d.machine.Serve(t, "0.0.0.0:22", func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
		_, _ = io.Copy(c, c) // What comes behind the caller's end is the half-close.
	})
	start(t, d.edge, d.args()...)
	NewWithT(t).Eventually(func() string { return asked(t, d.pod, atEdge, "192.168.100.1:1") }).Should(ContainSubstring("403"))
	const python = `import ssl, urllib.request as u
o = u.build_opener(u.ProxyHandler({"https": "http://` + atEdge + `"}), u.HTTPSHandler(context=ssl._create_unverified_context()))
print(o.open("https://worker-1.blue.example.com/", timeout=60).read().decode())`
	for name, c := range map[string]struct {
		command     []string
		stdin, want string
	}{
		"curl":            {[]string{"curl", "-sSk", "-m", "60", "-x", "http://" + atEdge, "https://worker-1/"}, "", "ok"},
		"curl, an error":  {[]string{"curl", "-sSk", "-m", "60", "-x", "http://" + atEdge, "https://worker-9/"}, "", "403"},
		"Python's urllib": {[]string{"python3", "-c", python}, "", "ok"},
		"OpenBSD's nc":    {[]string{"nc", "-X", "connect", "-x", atEdge, "-N", "-w", "60", "worker-1", "22"}, "hello", "SSH-2.0-x\r\nhello"},
	} {
		t.Run(name, func(t *testing.T) {
			programs.RequireInstalled(t, c.command[0])
			run := d.pod.Command(t.Context(), c.command[0], c.command[1:]...)
			run.Stdin = strings.NewReader(c.stdin)
			out, _ := run.CombinedOutput()
			NewWithT(t).Expect(strings.TrimSpace(string(out))).To(ContainSubstring(c.want))
		})
	}
}

func selfSigned(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestAccessWithTokens: with accounts in the plan, the keys that the watcher has stored decide, also those of a rotation, and also
// without any API server. Failover serves the metrics.
func TestAccessWithTokens(t *testing.T) {
	g, d := NewWithT(t), newDoor(t)
	const audience = "oooi-access.clusters-blue"
	d.open(t, network.AccessDestination{Name: "nodes", Port: 10250})
	changePlan(t, d.plan, func(n *network.Network) {
		n.Access.Accounts, n.Access.Audience, n.MetricsPort = []string{"backup/tool"}, audience, network.MetricsPort
	})
	d.machine.Serve(t, "0.0.0.0:10250", tells("kubelet"))
	p := start(t, d.edge, d.args()...)
	fakes.NewServer(t, d.dir, "dns")
	start(t, d.edge, "failover", "--plan", d.plan, "--run-dir", d.dir, "--cluster-interface", "eth0")
	one, two := newSigner(t), newSigner(t)
	ask := func(s signer) func() string {
		token := s.token(t, audience)
		return func() string {
			c := d.pod.Command(t.Context(), "curl", "-sS", "-m", "60", "-p", "-x", "http://"+atEdge, "--proxy-header", "Proxy-Authorization: Bearer "+token, "telnet://worker-1:10250")
			out, _ := c.CombinedOutput()
			return strings.TrimSpace(string(out))
		}
	}
	store := func(all ...signer) {
		var set jose.JSONWebKeySet
		for _, s := range all {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: s.Public(), Use: "sig"})
		}
		b, err := json.Marshal(set)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sharedfiles.Replace(wire.File(d.dir, "dhcp", wire.KeysFile), b)).To(Succeed())
	}
	g.Eventually(func() string { return asked(t, d.pod, atEdge, "worker-1:10250") }).Should(HaveSuffix("401 a token is missing"))
	g.Expect(ask(one)()).To(ContainSubstring("503"), "no key is known")
	store(one)
	g.Eventually(ask(one)).Should(Equal("kubelet for 192.168.100.4"))
	g.Expect(ask(two)()).To(ContainSubstring("403"))
	store(one, two)
	g.Eventually(ask(two)).Should(Equal("kubelet for 192.168.100.4"))
	g.Expect(ask(one)()).To(Equal("kubelet for 192.168.100.4"))
	store(two)
	g.Eventually(ask(one)).Should(ContainSubstring("403"))

	g.Eventually(p.String).Should(ContainSubstring(`"account":"backup/tool"`))
	g.Expect(p.String()).NotTo(ContainSubstring("eyJ"), "no token is logged")
	g.Eventually(func() (string, error) { return metricsOf(t, d.pod, "10.128.0.2") }).Should(And(
		ContainSubstring(`oooi_program_scraped{program="access"} 1`), ContainSubstring(`oooi_access_keys{program="access"} 1`),
		MatchRegexp(`oooi_access_requests_total\{outcome="opened",program="access"\} [1-9]`), MatchRegexp(`oooi_access_requests_total\{outcome="token",program="access"\} [1-9]`),
	))
}

// A signer stands in for an API server.
type signer struct{ *ecdsa.PrivateKey }

func newSigner(t *testing.T) signer {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{k}
}

// token is one of ServiceAccount backup/tool.
func (s signer) token(t *testing.T, audience string) string {
	t.Helper()
	return s.tokenOf(t, "backup:tool", audience)
}

// tokenOf is a token of a ServiceAccount, "namespace:name".
func (s signer) tokenOf(t *testing.T, account, audience string) string {
	t.Helper()
	signs, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.PrivateKey}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.Claims{Subject: "system:serviceaccount:" + account, Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}
	token, err := jwt.Signed(signs).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
