// This file creates the certificate and the token of a sidecar, and keeps them across restarts.

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// An identity contains the certificate of a sidecar, and the token that its clients must send. Clients get the
// certificate and the token from a kubeconfig.
type identity struct {
	address, token string
	certificate    tls.Certificate
	ca, key        []byte // PEM
}

// keyFile returns the path of the file with the private key of the certificate in a kubeconfig. Only the proxy reads it.
func keyFile(kubeconfig string) string { return kubeconfig + ".key" }

// identityOf returns the identity in the kubeconfig at path, so that clients continue to work after a restart. kept is then
// true. If the file is missing, invalid or about to expire, it returns a new identity.
func identityOf(path, address string, now time.Time) (own *identity, kept bool, err error) {
	if own, err := readIdentity(path, address, now); err == nil {
		return own, true, nil
	}
	own, err = newIdentity(address, now)
	return own, false, err
}

// readIdentity returns the identity in a kubeconfig that the proxy wrote to path. If the certificate is not for address, or
// expires within a year, it returns an error.
func readIdentity(path, address string, now time.Time) (*identity, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	key, err := readPrivate(keyFile(path))
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, err
	}
	cluster, user := config.Clusters[program], config.AuthInfos[program]
	if cluster == nil || user == nil || len(user.Token) < len(rand.Text()) {
		return nil, errors.New("the kubeconfig is not one of " + program)
	}
	pair, err := tls.X509KeyPair(cluster.CertificateAuthorityData, key)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if now.Before(pair.Leaf.NotBefore) || now.AddDate(1, 0, 0).After(pair.Leaf.NotAfter) {
		return nil, errors.New("the certificate expires soon")
	}
	if err := pair.Leaf.VerifyHostname(host); err != nil {
		return nil, err
	}
	return &identity{address: address, token: user.Token, certificate: pair, ca: cluster.CertificateAuthorityData, key: key}, nil
}

// readPrivate returns the content of a file. If users other than the current one can read or write the file, it returns
// an error.
func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || info.Mode() != 0o600 || int(owner.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s: must belong to this user and have mode 0600", path)
	}
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// newIdentity returns an identity with a random token, and a self-signed certificate for the IP address in address.
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
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return &identity{
		key:     pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		address: address, token: rand.Text() + rand.Text(), certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

// write writes a kubeconfig to path and the key to keyFile(path). Only the owner can read them. A client sees either the
// previous file or the complete new one.
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
	if err := writePrivate(keyFile(path), i.key); err != nil {
		return fmt.Errorf("writing the key of the kubeconfig: %w", err)
	}
	if err := writePrivate(path, []byte(text)); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// writePrivate replaces path by a file of mode 0600. If path is a symbolic link, it replaces the link.
func writePrivate(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*") // Its mode is 0600.
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
