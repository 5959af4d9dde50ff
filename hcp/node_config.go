// This file finds values that nodes get, and cannot use: an HTTPS proxy for the API server, and places of images.

package hcp

import (
	"net/url"
	"regexp"
	"slices"
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
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme == "http" && u.User == nil && u.RequestURI() == "/" && !strings.HasSuffix(c.Proxy.HTTPSProxy, "/") {
		return nil
	}
	for _, e := range f.Endpoints {
		if e.Name != network.APIService {
			continue
		}
		if _, surely := endpoints.APIProxied(hc, e, f.NodeAPI); surely {
			return problem.Problems{problem.New(problem.HostedProxyUnusable, problem.Subject{}, nil, "spec.configuration.proxy")}
		}
	}
	return nil
}

// repository is the format of a registry or a repository: a host with an optional port, and a path in small letters without a tag.
var repository = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// unreadableRegistries returns a problem for each field of hc with places of images from which no registries.conf for nodes can be made. The machine config operator,
// which HyperShift's Ignition server runs, refuses them (validateRegistriesConfScopes in container-runtime-config/helpers.go), or else CRI-O refuses a scheme.
func unreadableRegistries(hc *hyperv1.HostedCluster) (ps problem.Problems) {
	report := func(field string, all []string) {
		if len(all) > 0 {
			slices.Sort(all)
			ps = append(ps, problem.New(problem.RegistryUnreadable, problem.Subject{}, problem.Args{"hosts": slices.Compact(all), "field": {field}}, field))
		}
	}
	var bad []string
	for _, s := range hc.Spec.ImageContentSources {
		if domain, any := strings.CutPrefix(s.Source, "*."); !repository.MatchString(domain) || any && strings.ContainsAny(domain, ":/") {
			bad = append(bad, s.Source)
		}
		bad = append(bad, slices.DeleteFunc(slices.Clone(s.Mirrors), repository.MatchString)...)
	}
	report("spec.imageContentSources", bad)
	if c := hc.Spec.Configuration; c != nil && c.Image != nil {
		of := c.Image.RegistrySources
		readable := func(entry string) bool {
			domain, any := strings.CutPrefix(entry, "*.")
			return !strings.Contains(domain, "*") && !(any && strings.ContainsAny(domain, "/@:"))
		}
		bad := slices.DeleteFunc(slices.Clone(of.AllowedRegistries), readable) // They are for policy.json, which may have a scheme.
		report("spec.configuration.image.registrySources", append(bad, slices.DeleteFunc(slices.Concat(of.InsecureRegistries, of.BlockedRegistries), func(entry string) bool {
			return readable(entry) && !strings.Contains(entry, "://")
		})...))
	}
	return ps
}
