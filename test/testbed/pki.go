// The cluster's certificates and kubeconfigs, from one authority. Made new with
// each cluster, valid for ten years, never leaving the state directory.

package testbed

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

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority makes a self-signed certificate authority.
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

// readAuthority reads what Write wrote.
func readAuthority(path string) (Authority, error) {
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

// Issue writes a certificate, for servers of those host names and addresses and for
// clients, to path + ".crt" and its key to path + ".key".
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

// user has a client certificate and a kubeconfig.
type user struct {
	file    string
	subject pkix.Name
}

// clusterUsers are the administrator and the control plane's own.
func clusterUsers() []user {
	return []user{
		{"admin", pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}},
		{"kcm", pkix.Name{CommonName: "system:kube-controller-manager"}},
		{"scheduler", pkix.Name{CommonName: "system:kube-scheduler"}},
		{"kube-proxy", pkix.Name{CommonName: "system:kube-proxy"}},
		{"multus", pkix.Name{CommonName: "multus"}},
		{"kubelet-client", pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}}},
		{"front-proxy", pkix.Name{CommonName: "front-proxy-client"}},
	}
}

// writePKI makes the certificates, keys and kubeconfigs of a cluster, without its nodes'.
func (c *Cluster) writePKI() error {
	if err := os.MkdirAll(c.pki(""), 0o755); err != nil {
		return err
	}
	ca, err := NewAuthority("testbed-" + c.Name)
	if err != nil {
		return err
	}
	if err := ca.Write(c.pki("ca")); err != nil {
		return err
	}
	if err := ca.Issue(c.pki("apiserver"), pkix.Name{CommonName: "kube-apiserver"}, NodeIP, "127.0.0.1", "10.96.0.1", "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"); err != nil {
		return err
	}
	if err := c.writeUsers(ca, clusterUsers()); err != nil {
		return err
	}
	return writeServiceAccountKeys(c.pki("sa"))
}

// writeNodePKI makes those of a node, by the cluster's authority.
func (c *Cluster) writeNodePKI(n Node) error {
	ca, err := readAuthority(c.pki("ca"))
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: "system:node:" + n.Name, Organization: []string{"system:nodes"}}
	if err := ca.Issue(c.pki("kubelet-serving-"+n.Name), subject, n.IP, n.Name); err != nil {
		return err
	}
	return c.writeUsers(ca, []user{{"kubelet-" + n.Name, subject}})
}

func (c *Cluster) writeUsers(ca Authority, users []user) error {
	for _, u := range users {
		if err := ca.Issue(c.pki(u.file), u.subject); err != nil {
			return err
		}
		if err := c.writeKubeconfig(u.file); err != nil {
			return err
		}
	}
	return nil
}

func writeServiceAccountKeys(path string) error {
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

// writeKubeconfig writes one that holds its certificates, so that it can be copied.
func (c *Cluster) writeKubeconfig(name string) error {
	var files [3][]byte
	for i, file := range []string{"ca.crt", name + ".crt", name + ".key"} {
		data, err := os.ReadFile(c.pki(file))
		if err != nil {
			return err
		}
		files[i] = data
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{
		Server:                   fmt.Sprintf("https://%s:%d", NodeIP, APIServerPort),
		CertificateAuthorityData: files[0],
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: files[1], ClientKeyData: files[2]}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: name}
	config.CurrentContext = c.Name
	return clientcmd.WriteToFile(*config, c.pki(name+".kubeconfig"))
}
