// This file finds an HTTPS proxy of the hosted cluster that its nodes cannot use for the API server.

package hcp

import (
	"net/url"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/endpoints"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// unusableProxy returns a problem if kube-apiserver-proxy of each node uses the HTTPS proxy of hc, and cannot. It dials what follows the scheme of the URL, without
// TLS, and sends no password (generateKubernetesDefaultProxyPod in HyperShift's apiserver-haproxy/haproxy.go, and kubernetes-default-proxy).
func unusableProxy(hc *hyperv1.HostedCluster, f network.Facts) problem.Problems {
	c := hc.Spec.Configuration
	if c == nil || c.Proxy == nil {
		return nil
	}
	u, err := url.Parse(c.Proxy.HTTPSProxy)
	if err != nil || u.Scheme != "https" && u.User == nil && u.RequestURI() == "/" && !strings.HasSuffix(c.Proxy.HTTPSProxy, "/") {
		return nil
	}
	for _, e := range f.Endpoints {
		if e.Name == network.APIService && endpoints.APIProxied(hc, e, f.NodeAPI) {
			return problem.Problems{problem.New(problem.HostedProxyUnusable, problem.Subject{}, nil, "spec.configuration.proxy")}
		}
	}
	return nil
}
