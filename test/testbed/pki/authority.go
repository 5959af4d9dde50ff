// Package pki creates certificate authorities, and certificates that are valid for ten years.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// An Authority is a certificate authority.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority creates a self-signed certificate authority.
func NewAuthority(name string) (Authority, error) {
	template, key, err := certificate(pkix.Name{CommonName: name})
	if err != nil {
		return Authority{}, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Authority{}, err
	}
	signed, err := x509.ParseCertificate(der)
	return Authority{Certificate: signed, key: key}, err
}

// Write writes the authority's certificate to path + ".crt" and its key to ".key".
func (a Authority) Write(path string) error {
	return writePair(path, a.Certificate.Raw, a.key)
}

// ReadAuthority reads the files that [Authority.Write] wrote.
func ReadAuthority(path string) (Authority, error) {
	pair, err := tls.LoadX509KeyPair(path+".crt", path+".key")
	if err != nil {
		return Authority{}, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return Authority{}, fmt.Errorf("%s.key can't sign", path)
	}
	return Authority{Certificate: pair.Leaf, key: key}, nil
}

// Issue writes a certificate to path + ".crt" and its key to path + ".key". The certificate is for clients, and for servers with
// these host names and addresses.
func (a Authority) Issue(path string, subject pkix.Name, hosts ...string) error {
	template, key, err := certificate(subject)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePair(path, der, key)
}

func certificate(subject pkix.Name) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.AddDate(10, 0, 0),
	}, key, nil
}

func writePair(path string, der []byte, key crypto.Signer) error {
	if err := writePEM(path+".crt", "CERTIFICATE", der, 0o644); err != nil {
		return err
	}
	return writeKey(path+".key", key)
}

func writeKey(path string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}

// WriteKeys writes a new key pair to path + ".key" and path + ".pub".
func WriteKeys(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(path+".pub", "PUBLIC KEY", public, 0o644); err != nil {
		return err
	}
	return writeKey(path+".key", key)
}
