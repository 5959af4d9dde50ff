// This file starts konnectivity as HyperShift runs it: the server in the management cluster, and the agent on the VM, which dials
// the server. Clients use HTTP CONNECT at a Unix socket without TLS, which costs less than HyperShift's TLS.

package accessbench

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

// konnectivity starts a server in the edge's namespace, and an agent in the VM's.
func (s site) konnectivity(t *testing.T, vm string) way {
	t.Helper()
	programsOf := programs.RequireKonnectivity(t)
	dir, err := os.MkdirTemp("", "oooi-konnectivity-") // A test's own directory has too long a path for a socket.
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	certificate, key, socket := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "server.sock")
	selfSigned(t, certificate, key)
	server := s.start(t, s.edge, filepath.Join(programsOf, "proxy-server"), "--mode=http-connect", "--uds-name="+socket, "--server-port=0", "--agent-bind-address="+edgeVLAN,
		"--cluster-cert="+certificate, "--cluster-key="+key, "--cluster-ca-cert="+certificate, "--v=0")
	agent := s.start(t, s.vm, filepath.Join(programsOf, "proxy-agent"), "--proxy-server-host="+edgeVLAN, "--ca-cert="+certificate, "--agent-cert="+certificate, "--agent-key="+key,
		"--sync-interval=100ms", "--v=0")
	return way{"konnectivity", load{Address: vm, Proxy: socket}, []int{server, agent}}
}

// selfSigned writes a certificate for the server and for the agent, which signs itself.
func selfSigned(t *testing.T, certificate, key string) {
	t.Helper()
	g := NewWithT(t)
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.ParseIP(edgeVLAN)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, k.Public(), k)
	g.Expect(err).NotTo(HaveOccurred())
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)).To(Succeed())
}
