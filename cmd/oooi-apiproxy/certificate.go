// This file has certificates: those of files, which are followed, and a sidecar's own.

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A followed certificate is read again when its files have changed.
type followed struct {
	cert, key string
	log       *slog.Logger
	mu        sync.Mutex
	text      []byte // of both files, as last tried
	current   *tls.Certificate
}

func follow(cert, key string, logger *slog.Logger) (*followed, error) {
	f := &followed{cert: cert, key: key, log: logger}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// read takes the files if they have changed.
func (f *followed) read() error {
	cert, err := os.ReadFile(f.cert)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return fmt.Errorf("reading the key of the certificate: %w", err)
	}
	both := append(bytes.Clone(cert), key...)
	if bytes.Equal(both, f.text) {
		return nil
	}
	f.text = both
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", f.cert, f.key, err)
	}
	f.current = &pair
	return nil
}

// get returns the newest valid certificate.
func (f *followed) get() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(); err != nil {
		f.log.Error("certificate refused, the former one stays in force", "err", err)
	}
	return f.current
}

func (f *followed) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.get(), nil },
	}
}

// An identity is what a sidecar shows to its clients, and what they show to it.
type identity struct {
	address, token string
	certificate    tls.Certificate
	ca             []byte // PEM
}

// newIdentity makes a certificate for an address of this host. Its key is never stored.
func newIdentity(address string, now time.Time) (*identity, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: program}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.ParseIP(host)},
	}
	if template.IPAddresses[0] == nil {
		return nil, fmt.Errorf("address %s: want an IP address", address)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return &identity{
		address: address, token: rand.Text() + rand.Text(), certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

// write writes a kubeconfig that only the owner can read. A client sees the former file or all of the new one.
func (i *identity) write(path string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %[1]s
contexts:
- name: %[1]s
  context: {cluster: %[1]s, user: %[1]s}
clusters:
- name: %[1]s
  cluster: {server: "https://%[2]s", certificate-authority-data: %[3]s}
users:
- name: %[1]s
  user: {token: %[4]s}
`, program, i.address, base64.StdEncoding.EncodeToString(i.ca), i.token)
	f, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*") // Its mode is 0600.
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}
