package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

// listen serves until the test ends, and returns the URL.
func listen(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// get returns the status and the body of an answer.
func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return strconv.Itoa(r.StatusCode) + " " + string(text)
}

// certificate writes a certificate and its key, and returns the files.
func certificate(t *testing.T, dir, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	g := NewWithT(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	g.Expect(err).NotTo(HaveOccurred())
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	g.Expect(err).NotTo(HaveOccurred())
	pool = x509.NewCertPool()
	g.Expect(pool.AppendCertsFromPEM([]byte(pemOf("CERTIFICATE", der)))).To(BeTrue())
	return programs.WriteFile(t, dir, name+".crt", pemOf("CERTIFICATE", der)), programs.WriteFile(t, dir, name+".key", pemOf("PRIVATE KEY", pkcs8)), pool
}

func trusting(pool *x509.CertPool, own ...tls.Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: own}, DisableKeepAlives: true}}
}

// TestGateway: the caller's credentials are forwarded, and a new certificate is followed.
func TestGateway(t *testing.T) {
	g := NewWithT(t)
	upstream := listen(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+" "+r.Header.Get("Impersonate-User"))
	})
	dir := t.TempDir()
	kubeconfig := programs.WriteFile(t, dir, "kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: '"+upstream+"'}}]\nusers: [{name: a, user: {token: own}}]\n")
	cert, key, pool := certificate(t, dir, "tls")
	r := start(t, "--kubeconfig", kubeconfig, "--insecure", "--tls-cert", cert, "--tls-key", key)
	ask := func(pool *x509.CertPool, token string) string {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://"+r.address()+"/api", nil)
		g.Expect(err).NotTo(HaveOccurred())
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
			request.Header.Set("Impersonate-User", "eve")
		}
		answer, err := trusting(pool).Do(request)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	g.Expect(ask(pool, "mine")).To(Equal("Bearer mine eve"))
	g.Expect(ask(pool, "")).To(Equal(" "), "the gateway's own token is not lent")
	_, _, renewed := certificate(t, dir, "tls")
	g.Expect(ask(renewed, "mine")).To(Equal("Bearer mine eve"))
	g.Expect(os.WriteFile(cert, []byte("broken"), 0o600)).To(Succeed())
	g.Expect(ask(renewed, "mine")).To(Equal("Bearer mine eve"), "a broken file changes nothing")
}

// TestWebhook: both ways, with certificates on both sides.
func TestWebhook(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	cert, key, pool := certificate(t, dir, "tls")
	clientCert, clientKey, _ := certificate(t, dir, "client")
	pair, err := tls.LoadX509KeyPair(cert, key)
	g.Expect(err).NotTo(HaveOccurred())
	seen := make(chan string, 10)
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		seen <- r.URL.String() + " " + string(text)
		w.Header().Set("Content-Type", "application/json")
		// The patch adds the label kubevirt.io/os.
		_, _ = io.WriteString(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscy9rdWJldmlydC5pb34xb3MiLCJ2YWx1ZSI6IngifV0="}}`)
	}))
	hook.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	hook.StartTLS()
	t.Cleanup(hook.Close)
	r, _ := sidecar(t, "--server", "http://127.0.0.1:1", "--insecure", "--webhook-listen", "127.0.0.1:0", "--webhook-tls-cert", cert, "--webhook-tls-key", key,
		"--webhook-client-ca", clientCert, "--webhook-target", hook.URL)
	address := regexp.MustCompile(`"msg":"webhook proxy started","address":"([^"]+)"`).FindStringSubmatch(r.out.String())[1]
	own, err := tls.LoadX509KeyPair(clientCert, clientKey)
	g.Expect(err).NotTo(HaveOccurred())
	post := func(c *http.Client, text string) string {
		answer, err := c.Post("https://"+address+"/internal-validate-vm?timeout=10s", "application/json", strings.NewReader(text))
		if err != nil {
			return err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		body, _ := io.ReadAll(answer.Body)
		return strconv.Itoa(answer.StatusCode) + " " + string(body)
	}
	const review = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"kind":{"group":"internal.virt.example","version":"v1","kind":"InternalVirtualMachine"}}}`
	g.Expect(post(trusting(pool, own), review)).To(Equal(
		`200 {"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscy9pbnRlcm5hbC52aXJ0LmV4YW1wbGV+MW9zIiwidmFsdWUiOiJ4In1d"}}`))
	g.Expect(<-seen).To(Equal(`/validate-vm?timeout=10s {"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"kind":{"group":"kubevirt.io","version":"v1","kind":"VirtualMachine"}}}`))
	g.Expect(post(trusting(pool), review)).To(ContainSubstring("certificate required"), "a caller without a certificate")
	g.Expect(post(trusting(pool, own), strings.Replace(review, "k8s.io/v1", "k8s.io/v1beta1", 1))).To(HavePrefix("400 want an AdmissionReview of admission.k8s.io/v1"))
	_, _, renewed := certificate(t, dir, "tls") // The webhook server still has the previous one.
	hook.CloseClientConnections()
	g.Expect(post(trusting(renewed, own), review)).To(HavePrefix("502 the webhook cannot be reached"), "a certificate that is not trusted")
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func poolOf(t *testing.T, ca []byte) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	NewWithT(t).Expect(pool.AppendCertsFromPEM(ca)).To(BeTrue())
	return pool
}
