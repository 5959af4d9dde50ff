// This file has the flags, and checks that they can be combined.

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

type options struct {
	rules, listen, health       string
	kubeconfig, server          string
	insecure                    bool
	cert, key, writeKubeconfig  string
	webhookListen, webhookCert  string
	webhookKey, webhookClientCA string
	webhookTarget, webhookCA    string
	webhookName                 string
	maxItem                     int
	drain                       time.Duration
}

func (o *options) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.rules, "rules", "", "`file` with the names; see docs/clients.md")
	f.StringVar(&o.listen, "listen", "127.0.0.1:23915", "`address` to listen on for clients")
	f.StringVar(&o.health, "health-listen", "", "`address` of /livez, /readyz and /metrics over HTTP (default: none)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` for the API server (default: the pod's own ServiceAccount)")
	f.StringVar(&o.server, "server", "", "`URL` of the API server; overrides the one in the kubeconfig")
	f.BoolVar(&o.insecure, "insecure", false, "allow plain HTTP to an API server on this host")
	f.StringVar(&o.cert, "tls-cert", "", "gateway: `file` with the serving certificate; reloaded on change")
	f.StringVar(&o.key, "tls-key", "", "gateway: `file` with the key of --tls-cert")
	f.StringVar(&o.writeKubeconfig, "write-kubeconfig", "", "sidecar: `file` to write a kubeconfig to; its certificate and token survive a restart")
	f.StringVar(&o.webhookListen, "webhook-listen", "", "`address` to listen on for webhook calls from the API server")
	f.StringVar(&o.webhookCert, "webhook-tls-cert", "", "`file` with the serving certificate for webhook calls; reloaded on change")
	f.StringVar(&o.webhookKey, "webhook-tls-key", "", "`file` with the key of --webhook-tls-cert")
	f.StringVar(&o.webhookClientCA, "webhook-client-ca", "", "`file` with the CA of the API server's client certificate (default: no client certificate is requested)")
	f.StringVar(&o.webhookTarget, "webhook-target", "", "`URL` of the webhook server, such as https://127.0.0.1:9443")
	f.StringVar(&o.webhookCA, "webhook-target-ca", "", "`file` with the CA of the webhook server (default: the file of --webhook-tls-cert)")
	f.StringVar(&o.webhookName, "webhook-target-name", "", "`name` in the webhook server's certificate (default: the first in --webhook-tls-cert)")
	f.IntVar(&o.maxItem, "max-item", apirewrite.Largest, "largest object, list item and watch event in `bytes`")
	f.DurationVar(&o.drain, "drain", 10*time.Second, "`time` that requests get to finish after SIGTERM")
}

// check checks the flags. If they cannot be combined, or if the value of one is invalid, it returns an error.
func (o *options) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return errors.New("--tls-cert and --tls-key must be set together")
	case o.cert != "" && o.writeKubeconfig != "":
		return errors.New("--tls-cert is for a gateway, and --write-kubeconfig for a sidecar: set only one of them")
	case o.cert == "" && o.writeKubeconfig == "":
		return errors.New("set --tls-cert and --tls-key for a gateway, or --write-kubeconfig for a sidecar")
	case (o.webhookListen == "") != (o.webhookTarget == ""), o.webhookListen != "" && (o.webhookCert == "" || o.webhookKey == ""):
		return errors.New("--webhook-listen, --webhook-target, --webhook-tls-cert and --webhook-tls-key must be set together")
	case o.webhookTarget != "" && !strings.HasPrefix(o.webhookTarget, "https://"):
		return fmt.Errorf("--webhook-target %s: want https", o.webhookTarget)
	case o.webhookTarget != "" && !isServer(o.webhookTarget):
		return fmt.Errorf("--webhook-target %s: want only a scheme, a host and a port; the paths come from the rules", o.webhookTarget)
	case o.maxItem < 1<<20 || o.maxItem > apirewrite.LargestPossible:
		return fmt.Errorf("--max-item %d: want at least %d and at most %d", o.maxItem, 1<<20, apirewrite.LargestPossible)
	case o.writeKubeconfig != "" && !isLoopback(o.listen):
		return fmt.Errorf("--listen %s: a sidecar listens on the loopback interface only", o.listen)
	}
	return nil
}

// isServer reports whether text is a URL with a host, and without a user, a path, a query and a fragment.
func isServer(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && strings.TrimSuffix(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// inCluster returns the configuration for the API server of the pod's cluster. For a gateway, it contains no token, so that
// the pod needs none.
func inCluster(gateway bool) (*rest.Config, error) {
	if !gateway {
		return rest.InClusterConfig()
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, rest.ErrNotInCluster
	}
	return &rest.Config{Host: "https://" + net.JoinHostPort(host, port), TLSClientConfig: rest.TLSClientConfig{CAFile: serverCA}}, nil
}

// serverCA is the file in a pod that contains the API server's CA.
const serverCA = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

// apiServer returns the configuration of a client for the API server that the flags select, and the URL of that server.
func (o *options) apiServer() (*rest.Config, *url.URL, error) {
	config := &rest.Config{}
	var err error
	switch {
	case o.kubeconfig != "":
		config, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	case o.server == "" || !o.insecure:
		config, err = inCluster(o.cert != "")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("finding the API server: %w", err)
	}
	if o.server != "" {
		config.Host = o.server
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("URL of the API server %q: %w", config.Host, err)
	}
	switch {
	case server.Scheme == "https" && config.Insecure:
		return nil, nil, errors.New("the kubeconfig does not verify the API server: set its certificate-authority")
	case server.Scheme == "https":
	case !o.insecure || !isLoopback(server.Host):
		return nil, nil, fmt.Errorf("API server %s: plain HTTP needs --insecure, and a server on this host", server)
	}
	return config, server, nil
}
