// This file creates the certificates and kubeconfigs of a cluster. All certificates are signed by the cluster's own authority,
// and are valid for ten years. The keys never leave the state directory.

package cluster

import (
	"crypto/x509/pkix"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/cldmnky/oooi/test/testbed/pki"
)

// A user gets a client certificate and a kubeconfig.
type user struct {
	file    string
	subject pkix.Name
}

// clusterUsers returns the administrator and the users of the control plane.
func clusterUsers() []user {
	return []user{
		{"admin", pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}},
		{"kcm", pkix.Name{CommonName: "system:kube-controller-manager"}},
		{"scheduler", pkix.Name{CommonName: "system:kube-scheduler"}},
		{"kube-proxy", pkix.Name{CommonName: "system:kube-proxy"}},
		{"multus", pkix.Name{CommonName: "multus"}},
		{"netpold", pkix.Name{CommonName: "netpold"}},
		{"kubelet-client", pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}}},
		{"front-proxy", pkix.Name{CommonName: "front-proxy-client"}},
	}
}

// writePKI writes the certificates, keys and kubeconfigs of a cluster, except those of nodes.
func (c *Cluster) writePKI() error {
	if err := os.MkdirAll(c.pki(""), 0o755); err != nil {
		return err
	}
	ca, err := pki.NewAuthority("testbed-" + c.Name)
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
	return pki.WriteKeys(c.pki("sa"))
}

// writeNodePKI writes the certificates, keys and kubeconfigs of a node.
func (c *Cluster) writeNodePKI(n Node) error {
	ca, err := pki.ReadAuthority(c.pki("ca"))
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: "system:node:" + n.Name, Organization: []string{"system:nodes"}}
	if err := ca.Issue(c.pki("kubelet-serving-"+n.Name), subject, n.IP, n.Name); err != nil {
		return err
	}
	return c.writeUsers(ca, []user{{"kubelet-" + n.Name, subject}})
}

func (c *Cluster) writeUsers(ca pki.Authority, users []user) error {
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

// writeKubeconfig writes a kubeconfig that contains its certificates, so that it can be copied.
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
