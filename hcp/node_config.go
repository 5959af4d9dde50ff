// This file finds HTTP proxies, taints and registries of a HostedCluster and its NodePools that nodes cannot use.

package hcp

import (
	"cmp"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/hcp/endpoints"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// unusableProxy returns a problem if kube-apiserver-proxy, a static pod of each node, must use the HTTPS proxy of hc
// and is unable to. The pod dials the part of the URL after the scheme, without TLS, and sends no password
// (generateKubernetesDefaultProxyPod in HyperShift's apiserver-haproxy/haproxy.go, and kubernetes-default-proxy).
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

// refusedProxy returns problems if the network operator of a new cluster refuses its proxies
// (pkg/controller/proxyconfig/validation.go). Then the operator does not pass them to its pods. One of these pods
// measures the MTU on the first node.
func refusedProxy(o objects.Objects) (ps problem.Problems) {
	c := o.HostedCluster.Spec.Configuration
	if c == nil || c.Proxy == nil || hasNodes(o) {
		return nil
	}
	if u, err := url.Parse(c.Proxy.HTTPProxy); err == nil && u.Scheme == "https" {
		ps = append(ps, problem.New(problem.HTTPProxyRefused, problem.Subject{}, nil, "spec.configuration.proxy.httpProxy"))
	}
	entries := slices.DeleteFunc(strings.Split(c.Proxy.NoProxy, ","), func(entry string) bool {
		entry = strings.TrimSpace(entry)
		_, err := netip.ParsePrefix(entry)
		domain := strings.TrimSuffix(strings.TrimPrefix(entry, "."), ".")
		return err == nil || services.Address(entry).IsValid() || len(validation.IsDNS1123Subdomain(domain)) == 0
	})
	if len(entries) > 0 && c.Proxy.NoProxy != "" && c.Proxy.NoProxy != "*" {
		entries = entries[:min(len(entries), maxNamed)]
		for i := range entries {
			entries[i] = strconv.Quote(entries[i])
		}
		ps = append(ps, problem.New(problem.NoProxyRefused, problem.Subject{}, problem.Args{"entries": entries}, "spec.configuration.proxy.noProxy"))
	}
	return ps
}

// hasNodes reports whether a node of o is Ready: HyperShift counts these in a NodePool's status.
func hasNodes(o objects.Objects) bool {
	return slices.ContainsFunc(o.NodePools, func(np hyperv1.NodePool) bool { return np.Status.Replicas > 0 })
}

// allTainted returns a problem if every NodePool of a new cluster taints its nodes. Then no node runs the ingress: the
// IngressController that HyperShift creates has no tolerations
// (hostedclusterconfigoperator/controllers/resources/ingress/reconcile.go).
func allTainted(o objects.Objects) problem.Problems {
	var tainted []string
	sizes := networks.NodePoolSizes(o)
	for _, np := range o.NodePools {
		keeps := func(t hyperv1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
		switch {
		case sizes[np.Name] == 0 || np.DeletionTimestamp != nil:
		case !slices.ContainsFunc(np.Spec.Taints, keeps):
			return nil
		default:
			tainted = append(tainted, np.Name)
		}
	}
	if len(tainted) == 0 || hasNodes(o) {
		return nil
	}
	slices.Sort(tainted)
	return problem.Problems{problem.New(problem.AllNodesTainted, problem.Subject{}, problem.Args{"nodePools": tainted[:min(len(tainted), maxNamed)]}, "spec.taints")}
}

// repository matches a registry or a repository: a host, an optional port, and an optional path in lower case without a tag.
var repository = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// unreadableRegistries returns a problem for each field of hc with registries or repositories that cannot be written to
// registries.conf of nodes. The machine config operator, which HyperShift's Ignition server runs, refuses them
// (validateRegistriesConfScopes in container-runtime-config/helpers.go), or CRI-O refuses their scheme. The search list
// is in a file of its own, which the operator does not check. If one entry is not a host with an optional port, CRI-O
// reads no registries at all (postProcess in containers/image, pkg/sysregistriesv2).
func unreadableRegistries(hc *hyperv1.HostedCluster) (ps problem.Problems) {
	report := func(field string, all []string) {
		if len(all) > 0 {
			slices.Sort(all)
			all = slices.Compact(all)
			all[0] = cmp.Or(all[0], `""`)
			ps = append(ps, problem.New(problem.RegistryUnreadable, problem.Subject{}, problem.Args{"hosts": all, "field": {field}}, field))
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
		// These are written to policy.json, where a scheme is valid.
		bad := slices.DeleteFunc(slices.Clone(of.AllowedRegistries), readable)
		report("spec.configuration.image.registrySources", append(bad, slices.DeleteFunc(slices.Concat(of.InsecureRegistries, of.BlockedRegistries), func(entry string) bool {
			return readable(entry) && !strings.Contains(entry, "://")
		})...))
		bad = slices.DeleteFunc(slices.Clone(of.ContainerRuntimeSearchRegistries), func(entry string) bool {
			host := strings.TrimRight(entry, "/")
			return repository.MatchString(host) && !strings.Contains(host, "/")
		})
		report("spec.configuration.image.registrySources.containerRuntimeSearchRegistries", bad)
	}
	return ps
}
