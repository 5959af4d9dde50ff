// This file creates the certificates of the registries, the webhook and HyperShift's operator. The keys are only in the state directory and
// in Secrets of the cluster.
package hypershift

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/cldmnky/oooi/test/testbed/ocp"
)

// A keyPair is a certificate and its key, in PEM.
type keyPair struct{ Cert, Key []byte }

// A pki contains all keys and certificates of one testbed. They never change, so that another Install changes nothing.
type pki struct {
	CA                                  []byte // PEM
	Registry, Mirror, Webhook, Operator keyPair
	SSH                                 []byte // public key for nodes, in the format of authorized_keys; its private key is not kept
}

// loadPKI reads the pki in dir. If there is none, it creates and writes one.
func loadPKI(dir string) (pki, error) {
	p, err := readPKI(dir)
	if err == nil || !os.IsNotExist(err) {
		return p, err
	}
	if p, err = newPKI(time.Now()); err != nil {
		return p, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, err
	}
	for name, b := range p.files() {
		if err := os.WriteFile(filepath.Join(dir, name), *b, 0o600); err != nil {
			return p, err
		}
	}
	return p, nil
}

func readPKI(dir string) (pki, error) {
	var p pki
	for name, b := range p.files() {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return pki{}, err
		}
		*b = data
	}
	return p, nil
}

func (p *pki) files() map[string]*[]byte {
	return map[string]*[]byte{
		"ca.crt": &p.CA, "ssh.pub": &p.SSH, "registry.crt": &p.Registry.Cert, "registry.key": &p.Registry.Key,
		"mirror.crt": &p.Mirror.Cert, "mirror.key": &p.Mirror.Key,
		"webhook.crt": &p.Webhook.Cert, "webhook.key": &p.Webhook.Key, "operator.crt": &p.Operator.Cert, "operator.key": &p.Operator.Key,
	}
}

func newPKI(now time.Time) (pki, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pki{}, err
	}
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "testbed"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	p := pki{}
	if p.CA, err = sign(ca, ca, key.Public(), key, now); err != nil {
		return pki{}, err
	}
	for pair, names := range map[*keyPair][]string{
		&p.Registry: {ocp.RegistryIP},
		&p.Mirror:   {MirrorHost},
		&p.Webhook:  {"pod-webhook.kubevirt.svc"},
		&p.Operator: {"operator.hypershift.svc", "operator.hypershift.svc.cluster.local"},
	} {
		if *pair, err = leaf(names, ca, key, now); err != nil {
			return pki{}, err
		}
	}
	pub, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return pki{}, err
	}
	sshKey, err := ssh.NewPublicKey(pub)
	if err != nil {
		return pki{}, err
	}
	p.SSH = ssh.MarshalAuthorizedKey(sshKey)
	return p, nil
}

// leaf returns a serving certificate for names, which are host names or addresses.
func leaf(names []string, ca *x509.Certificate, signer crypto.Signer, now time.Time) (keyPair, error) {
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	cert, err := sign(t, ca, key.Public(), signer, now)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{Cert: cert, Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}, nil
}

func sign(t, parent *x509.Certificate, pub crypto.PublicKey, signer crypto.Signer, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	c := *t
	c.SerialNumber, c.NotBefore, c.NotAfter = serial, now.Add(-time.Hour), now.AddDate(10, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, &c, parent, pub, signer)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", t.Subject, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
