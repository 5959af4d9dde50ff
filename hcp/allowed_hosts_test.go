package hcp_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/net/http/httpproxy"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// pulling is a cluster on an isolated network whose nodes pull from a registry.
func pulling(t *testing.T, image string) hcp.Objects {
	t.Helper()
	o := served(t)
	o.HostedCluster.Spec.Release.Image = image
	for i := range o.NodePools {
		o.NodePools[i].Spec.Release.Image = image
	}
	return o
}

// through are the hosts that are let through to the outside, "host:port" or
// "host:port by proxy".
func through(o hcp.Objects) (hosts []string, problems network.Problems) {
	in, problems := translated(o)
	for _, e := range in.Endpoints {
		if e.Backend.Kind != network.BackendExternal {
			continue
		}
		at := e.Backend.Name
		if e.Backend.HTTPProxy != "" {
			at += " by " + e.Backend.HTTPProxy
		}
		hosts = append(hosts, at)
	}
	return hosts, problems
}

// said is the detail of the first problem with this reason, or "".
func said(ps network.Problems, r network.Reason) string {
	i := slices.IndexFunc(ps, func(p network.Problem) bool { return p.Reason == r })
	if i < 0 {
		return ""
	}
	return message(ps[i])
}

const privateRelease = "registry.example.com:8443/ocp/release:4.20"

func TestRegistriesOfTheCluster(t *testing.T) {
	g := NewWithT(t)
	o := pulling(t, "quay.io/openshift-release-dev/ocp-release:4.20")
	o.NodePools[0].Spec.Release.Image = privateRelease
	o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io/openshift-release-dev/ocp-v4.0-art-dev", Mirrors: []string{"Mirror.example.com/ocp", "https://other.example.com:5000/x"}}}
	hosts, problems := through(o)
	g.Expect(hosts).To(ConsistOf("quay.io:443", "cdn.quay.io:443", "cdn01.quay.io:443", "cdn02.quay.io:443", "cdn03.quay.io:443", "cdn04.quay.io:443", "cdn05.quay.io:443", "cdn06.quay.io:443",
		"registry.example.com:8443", "mirror.example.com:443", "other.example.com:5000"))
	g.Expect(said(problems, network.ImagesUnreachable)).To(BeEmpty())

	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse())
	n := p.Networks[0]
	i := slices.IndexFunc(n.Listeners, func(l network.Listener) bool { return l.Address == n.ServiceVIP && l.Port == 8443 })
	g.Expect(n.Listeners[i].Default).To(BeEmpty(), "what names another host there is closed")
	g.Expect(n.Listeners[i].Forwards).To(HaveExactElements(network.Forward{ServerNames: []string{"registry.example.com"}, Backend: "registry.example.com:8443"}))
	g.Expect(n.DNS.Views[0].Records).To(ContainElement(HaveField("Name", "mirror.example.com")))
}

// TestWhenRegistriesAreCarried: by default where no gateway leads to them.
func TestWhenRegistriesAreCarried(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		hosts       []string
		problem     string
	}{
		"by default":                 {nil, []string{"registry.example.com:8443"}, ""},
		"none":                       {map[string]string{"allowed-hosts": "none"}, nil, "registry.example.com"},
		"further ones":               {map[string]string{"allowed-hosts": "auto,git.example.com:444"}, []string{"git.example.com:444", "registry.example.com:8443"}, ""},
		"with a gateway":             {map[string]string{"gateway": "192.168.100.1"}, nil, ""},
		"asked for beside it":        {map[string]string{"gateway": "192.168.100.1", "allowed-hosts": "auto"}, []string{"registry.example.com:8443"}, ""},
		"without our DNS":            {map[string]string{"services": "dhcp,proxy"}, []string{"registry.example.com:8443"}, "registry.example.com"},
		"without our proxy":          {map[string]string{"services": "dhcp,dns"}, []string{"registry.example.com:8443"}, "registry.example.com"},
		"a mirror of the user's own": {map[string]string{"dns-records": "registry.example.com=192.168.100.7"}, nil, ""},
		"one by a wildcard":          {map[string]string{"dns-records": "*.example.com=192.168.100.7"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := pulling(t, privateRelease)
			for k, v := range c.annotations {
				o.HostedCluster.Annotations[settings.Prefix+k] = v
			}
			hosts, problems := through(o)
			g.Expect(hosts).To(Equal(c.hosts))
			g.Expect(problems.Has(network.ImagesUnreachable)).To(Equal(c.problem != ""), "%v", problems)
			g.Expect(said(problems, network.ImagesUnreachable)).To(ContainSubstring(c.problem))
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
		})
	}
}

// TestWhatNoServerNameTells is not carried, and why is said.
func TestWhatNoServerNameTells(t *testing.T) {
	for mirror, why := range map[string]string{
		"10.9.8.7:5000/ocp":                         "an IP address (10.9.8.7:5000)",
		"[fd00::7]:5000/ocp":                        "an IP address ([fd00::7]:5000)",
		"fd00::7/ocp":                               "an IP address (fd00::7)",
		"http://mirror.example.com:5000/ocp":        "plain HTTP (mirror.example.com:5000)",
		"mirror.example.com:80/ocp":                 "plain HTTP (mirror.example.com:80)",
		"registry.registry.svc.cluster.local:5000/": "inside the management cluster",
		"registry:5000/ocp":                         "not a full DNS name (registry:5000)",
		"192.168.100.7:5000/on/the/network":         "",
	} {
		t.Run(mirror, func(t *testing.T) {
			g := NewWithT(t)
			o := pulling(t, privateRelease)
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "x", Mirrors: []string{mirror}}}
			hosts, problems := through(o)
			g.Expect(hosts).To(HaveExactElements("registry.example.com:8443"))
			g.Expect(problems.Has(network.ImagesUnreachable)).To(Equal(why != ""))
			g.Expect(said(problems, network.ImagesUnreachable)).To(ContainSubstring(why))
		})
	}
}

// TestTheManagementClustersProxy: asked for each host by the rules of NO_PROXY,
// and never if it would need a secret.
func TestTheManagementClustersProxy(t *testing.T) {
	for name, c := range map[string]struct {
		proxy httpproxy.Config
		hosts []string
		why   string
	}{
		"none":            {httpproxy.Config{}, []string{"mirror.corp.example.net:443", "registry.example.com:8443"}, ""},
		"for all":         {httpproxy.Config{HTTPSProxy: "http://proxy.example.com:3128"}, []string{"mirror.corp.example.net:443 by proxy.example.com:3128", "registry.example.com:8443 by proxy.example.com:3128"}, ""},
		"its port":        {httpproxy.Config{HTTPSProxy: "proxy.example.com", NoProxy: ".corp.example.net"}, []string{"mirror.corp.example.net:443", "registry.example.com:8443 by proxy.example.com:80"}, ""},
		"with a password": {httpproxy.Config{HTTPSProxy: "http://me:hunter2@proxy.example.com:3128", NoProxy: "corp.example.net"}, []string{"mirror.corp.example.net:443"}, "The HTTP proxy of the management cluster needs a password, which edges do not have. Nodes cannot pull images from registry.example.com."},
		"by TLS":          {httpproxy.Config{HTTPSProxy: "https://proxy.example.com", NoProxy: "corp.example.net"}, []string{"mirror.corp.example.net:443"}, "not an http:// proxy"},
		"unreadable":      {httpproxy.Config{HTTPSProxy: "http://me:hunter2@proxy:port"}, nil, "HTTPS_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := pulling(t, privateRelease)
			o.HostedCluster.Annotations[settings.Prefix+"allowed-hosts"] = "auto,mirror.corp.example.net"
			o.Proxy = c.proxy
			hosts, problems := through(o)
			g.Expect(hosts).To(Equal(c.hosts))
			detail := said(problems, network.ImagesUnreachable)
			g.Expect(detail).To(ContainSubstring(c.why))
			g.Expect(detail == "").To(Equal(c.why == ""))
			g.Expect(strings.Contains(detail, "hunter2")).To(BeFalse(), "no secret is said")
		})
	}
}
