// This file shows which certificate requests are granted to a node.

package worker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	certificates "k8s.io/api/certificates/v1"
)

func TestGrants(t *testing.T) {
	const node = "system:node:blue-1"
	name, address := "blue-1", netip.MustParseAddr("192.168.100.10")
	for what, test := range map[string]struct {
		user, signer, cn string
		dns              []string
		ip               string
		want             bool
	}{
		"a first client certificate":  {bootstrapper, certificates.KubeAPIServerClientKubeletSignerName, node, nil, "", true},
		"a renewed one":               {node, certificates.KubeAPIServerClientKubeletSignerName, node, nil, "", true},
		"a serving certificate":       {node, certificates.KubeletServingSignerName, node, []string{"blue-1"}, "192.168.100.10", true},
		"another user's":              {"system:admin", certificates.KubeAPIServerClientKubeletSignerName, node, nil, "", false},
		"another machine's":           {bootstrapper, certificates.KubeAPIServerClientKubeletSignerName, "system:node:blue-2", nil, "", false},
		"a foreign address":           {node, certificates.KubeletServingSignerName, node, nil, "192.168.100.11", false},
		"a foreign name":              {node, certificates.KubeletServingSignerName, node, []string{"api.blue.example.com"}, "192.168.100.10", false},
		"serving for a bootstrapper":  {bootstrapper, certificates.KubeletServingSignerName, node, nil, "192.168.100.10", false},
		"a client with names":         {bootstrapper, certificates.KubeAPIServerClientKubeletSignerName, node, []string{"blue-1"}, "", false},
		"a signer that is not a node": {node, certificates.KubeAPIServerClientSignerName, node, nil, "", false},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			g.Expect(err).NotTo(HaveOccurred())
			request := &x509.CertificateRequest{Subject: pkix.Name{CommonName: test.cn, Organization: []string{"system:nodes"}}, DNSNames: test.dns}
			if test.ip != "" {
				request.IPAddresses = []net.IP{net.ParseIP(test.ip)}
			}
			der, err := x509.CreateCertificateRequest(rand.Reader, request, key)
			g.Expect(err).NotTo(HaveOccurred())
			csr := certificates.CertificateSigningRequest{Spec: certificates.CertificateSigningRequestSpec{
				Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
				SignerName: test.signer, Username: test.user,
			}}
			g.Expect(Grants(csr, name, address)).To(Equal(test.want))
		})
	}
	NewWithT(t).Expect(Grants(certificates.CertificateSigningRequest{}, name, address)).To(BeFalse())
}
