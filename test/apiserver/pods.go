// This file serves an API server to the processes of pods in network namespaces, which have no
// credential of their own.

package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/test/netns"
)

// ServePods serves config's API server at host and port in ns until the test ends. Pods are what config
// is. It returns the directory with the files of a service account in a namespace of the API server.
func ServePods(t testing.TB, ns *netns.Namespace, config *rest.Config, namespace, host, port string) string {
	t.Helper()
	transport, err := rest.TransportFor(config)
	must(t, err)
	target, err := url.Parse(config.Host)
	must(t, err)
	certificate, ca := NewCertificate(t, host)
	s := &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Header.Del("Authorization")
			},
			Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ErrorLog: log.New(io.Discard, "", 0),
	}
	var l net.Listener
	ns.Do(t, func() { l, err = net.Listen("tcp4", net.JoinHostPort(host, port)) })
	must(t, err)
	go func() { _ = s.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = s.Close() })
	dir := t.TempDir()
	for name, text := range map[string][]byte{"ca.crt": ca, "token": []byte("none"), "namespace": []byte(namespace)} {
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

// NewCertificate returns a certificate for an IP address, and itself in PEM, as it is its own authority.
func NewCertificate(t testing.TB, host string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pods"}, IPAddresses: []net.IP{net.ParseIP(host)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
