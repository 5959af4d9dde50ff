package hcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// mirroring returns the sources of a cluster with that release image: on a mirror, with the images that it names.
func mirroring(image string) []hyperv1.ImageContentSource {
	if strings.HasPrefix(image, "quay.io/") {
		return nil
	}
	return []hyperv1.ImageContentSource{{Source: ofImages, Mirrors: []string{image[:strings.LastIndex(image, "/")] + "/images"}}}
}

// pulling returns a cluster on an isolated network with that release image.
func pulling(t *testing.T, image string) hcp.Objects {
	t.Helper()
	o := served(t)
	o.HostedCluster.Spec.Release.Image, o.HostedCluster.Spec.ImageContentSources = image, mirroring(image)
	for i := range o.NodePools {
		o.NodePools[i].Spec.Release.Image = image
	}
	return o
}

// externalHosts returns the allowed external hosts as "host:port", or
// "host:port by proxy", and the problems that are not hints.
func externalHosts(o hcp.Objects) (hosts []string, problems problem.Problems) {
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
	return hosts, slices.DeleteFunc(problems, func(p problem.Problem) bool { return p.Severity == problem.SeverityInfo })
}

// messageOf returns the message of the first problem with this reason, or "".
func messageOf(ps problem.Problems, r problem.Reason) string {
	i := slices.IndexFunc(ps, func(p problem.Problem) bool { return p.Reason == r })
	if i < 0 {
		return ""
	}
	return message(ps[i])
}

const privateRelease = "registry.example.com:8443/ocp/release:4.20"

// TestRegistriesOfTheCluster checks the registries of release images and mirrors.
func TestRegistriesOfTheCluster(t *testing.T) {
	g := NewWithT(t)
	o := pulling(t, "quay.io/openshift-release-dev/ocp-release:4.20")
	o.NodePools[0].Spec.Release.Image = privateRelease
	o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io/openshift-release-dev/ocp-v4.0-art-dev", Mirrors: []string{"Mirror.example.com/ocp", "https://other.example.com:5000/x"}}}
	hosts, problems := externalHosts(o)
	g.Expect(hosts).To(ConsistOf("quay.io:443", "cdn.quay.io:443", "cdn01.quay.io:443", "cdn02.quay.io:443", "cdn03.quay.io:443", "cdn04.quay.io:443", "cdn05.quay.io:443", "cdn06.quay.io:443",
		"registry.example.com:8443", "mirror.example.com:443", "other.example.com:5000"))
	g.Expect(messageOf(problems, problem.ImagesUnreachable)).To(BeEmpty())

	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse())
	n := p.Networks[0]
	i := slices.IndexFunc(n.Listeners, func(l network.Listener) bool { return l.Address == n.ServiceVIP && l.Port == 8443 })
	g.Expect(n.Listeners[i].Default).To(BeEmpty(), "connections with another server name are closed")
	g.Expect(n.Listeners[i].Forwards).To(HaveExactElements(network.Forward{ServerNames: []string{"registry.example.com"}, Backend: "registry.example.com:8443"}))
	g.Expect(n.DNS.Views[0].Records).To(ContainElement(HaveField("Name", "mirror.example.com")))
}

// TestAllowedHosts checks that registries are allowed by default without a gateway.
func TestAllowedHosts(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		hosts       []string
		problem     string
	}{
		"by default":                  {nil, []string{"registry.example.com:8443"}, ""},
		"none":                        {map[string]string{"allowed-hosts": "none"}, nil, "registry.example.com"},
		"further ones":                {map[string]string{"allowed-hosts": "auto,git.example.com:5000"}, []string{"git.example.com:5000", "registry.example.com:8443"}, ""},
		"with a gateway":              {map[string]string{"gateway": "192.168.100.1"}, nil, ""},
		"with a gateway, set to auto": {map[string]string{"gateway": "192.168.100.1", "allowed-hosts": "auto"}, []string{"registry.example.com:8443"}, ""},
		"without DNS":                 {map[string]string{"services": "dhcp,proxy"}, []string{"registry.example.com:8443"}, "registry.example.com"},
		"without proxy":               {map[string]string{"services": "dhcp,dns"}, []string{"registry.example.com:8443"}, "registry.example.com"},
		"a record for a mirror":       {map[string]string{"dns-records": "registry.example.com=192.168.100.7"}, nil, ""},
		"a wildcard record":           {map[string]string{"dns-records": "*.example.com=192.168.100.7"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := pulling(t, privateRelease)
			for k, v := range c.annotations {
				o.HostedCluster.Annotations[settings.Prefix+k] = v
			}
			hosts, problems := externalHosts(o)
			g.Expect(hosts).To(Equal(c.hosts))
			g.Expect(problems.Has(problem.ImagesUnreachable)).To(Equal(c.problem != ""), "%v", problems)
			g.Expect(messageOf(problems, problem.ImagesUnreachable)).To(ContainSubstring(c.problem))
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
		})
	}
}

// TestHostsThatAreNotPermitted: the administrator's permissions limit the annotation, and also the tenant's release image and mirrors.
// Permitted hosts are served.
func TestHostsThatAreNotPermitted(t *testing.T) {
	for name, c := range map[string]struct {
		permitted network.Permissions
		hosts     []string
		reason    problem.Reason
		words     string
	}{
		"a node port, by default": {hosts: []string{"evil.example.net:443", "registry.example.com:8443"}, reason: problem.NotPermitted, words: "--permit-hosts and --permit-ports do not permit: evil.example.net:30443."},
		"a host": {permitted: network.Permissions{Hosts: []string{"*.example.com"}},
			hosts: []string{"registry.example.com:8443"}, reason: problem.NotPermitted, words: "--permit-ports do not permit: evil.example.net:443, evil.example.net:30443."},
		"a release image": {permitted: network.Permissions{Hosts: []string{"*.example.net"}},
			hosts: []string{"evil.example.net:443"}, reason: problem.ImagesUnreachable, words: "registry.example.com:8443, which the operator's flags --permit-hosts and --permit-ports do not permit"},
		"its port": {permitted: network.Permissions{Ports: []network.PortRange{{First: 443, Last: 443}}},
			hosts: []string{"evil.example.net:443"}, reason: problem.ImagesUnreachable, words: "registry.example.com:8443, which the operator's flags --permit-hosts and --permit-ports do not permit"},
		"nothing": {permitted: network.Permissions{Hosts: []string{}}, reason: problem.ImagesUnreachable, words: "registry.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := pulling(t, privateRelease)
			o.Permissions = c.permitted
			o.HostedCluster.Annotations[settings.Prefix+"allowed-hosts"] = "auto,evil.example.net,evil.example.net:30443"
			hosts, problems := externalHosts(o)
			g.Expect(hosts).To(Equal(c.hosts))
			g.Expect(messageOf(problems, c.reason)).To(ContainSubstring(c.words))
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
		})
	}
}

// TestEdgeNodesThatAreNotPermitted: an annotation moves edges neither to control plane nodes nor to other nodes that are not permitted.
func TestEdgeNodesThatAreNotPermitted(t *testing.T) {
	g := NewWithT(t)
	o := pulling(t, privateRelease)
	o.HostedCluster.Annotations[settings.Prefix+"edge-node-selector"] = "node-role.kubernetes.io/master=,vlan100=yes"
	_, problems := translated(o)
	g.Expect(problems.Blocking()).To(BeTrue())
	g.Expect(messageOf(problems, problem.NotPermitted)).To(ContainSubstring("--permit-edge-node-labels does not permit: node-role.kubernetes.io/master."))
	o.Permissions.NodeLabels = []string{"*"}
	_, problems = translated(o)
	g.Expect(problems.Has(problem.NotPermitted)).To(BeFalse())
}

// TestRecordsThatOverride: the condition names a DNS record that replaces a published name, or all names below a top-level domain.
func TestRecordsThatOverride(t *testing.T) {
	g := NewWithT(t)
	o := pulling(t, privateRelease)
	in, _ := translated(o)
	api := in.Endpoints[slices.IndexFunc(in.Endpoints, func(e network.Endpoint) bool { return len(e.Hosts) > 0 })].Hosts[0]
	o.HostedCluster.Annotations[settings.Prefix+"dns-records"] = api + "=192.168.100.66,*.com=192.168.100.66,*.corp.example.com=192.168.100.7,printer.example.com=192.168.100.8"
	_, problems := translated(o)
	var told []string
	for _, p := range problems {
		if p.Reason == problem.NamesOverridden {
			g.Expect(p.Severity).To(Equal(problem.SeverityWarning))
			told = append(told, p.Args["name"]...)
		}
	}
	g.Expect(told).To(Equal([]string{api, "*.com"}))
}

// TestRegistriesWithoutServerName checks that edges do not forward to such registries,
// and that the message has the cause.
func TestRegistriesWithoutServerName(t *testing.T) {
	for mirror, why := range map[string]string{
		"10.9.8.7:5000/ocp":                         "without a full DNS name (10.9.8.7:5000)",
		"[fd00::7]:5000/ocp":                        "without a full DNS name ([fd00::7]:5000)",
		"fd00::7/ocp":                               "without a full DNS name (fd00::7)",
		"http://mirror.example.com:5000/ocp":        "plain HTTP (mirror.example.com:5000)",
		"mirror.example.com:80/ocp":                 "plain HTTP (mirror.example.com:80)",
		"registry.registry.svc.cluster.local:5000/": "inside the management cluster",
		"registry:5000/ocp":                         "without a full DNS name (registry:5000)",
		"192.168.100.7:5000/on/the/network":         "",
	} {
		t.Run(mirror, func(t *testing.T) {
			g := NewWithT(t)
			o := pulling(t, privateRelease)
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: ofImages, Mirrors: []string{mirror}}}
			hosts, problems := externalHosts(o)
			g.Expect(hosts).To(HaveExactElements("registry.example.com:8443"))
			g.Expect(problems.Has(problem.ImagesUnreachable)).To(Equal(why != ""))
			g.Expect(messageOf(problems, problem.ImagesUnreachable)).To(ContainSubstring(why))
		})
	}
}

// TestNoRegistryIsReachable: the problem is reported only if nothing that is known gives VMs a way to a registry.
func TestNoRegistryIsReachable(t *testing.T) {
	annotate := func(key, value string) func(*hcp.Objects) {
		return func(o *hcp.Objects) { o.HostedCluster.Annotations[settings.Prefix+key] = value }
	}
	mirror := func(at string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "x", Mirrors: []string{at}}}
		}
	}
	pool := func(change func(*hyperv1.NodePool)) func(*hcp.Objects) {
		return func(o *hcp.Objects) { change(&o.NodePools[0]) }
	}
	for name, c := range map[string]struct {
		image  string
		change func(*hcp.Objects)
		proven bool
	}{
		"no external hosts":              {privateRelease, annotate("allowed-hosts", "none"), true},
		"no host is permitted":           {privateRelease, func(o *hcp.Objects) { o.Permissions.Hosts = []string{} }, true},
		"plain HTTP":                     {"http://registry.example.com:5000/ocp:1", func(*hcp.Objects) {}, true},
		"a short name":                   {"registry:5000/ocp:1", func(*hcp.Objects) {}, true},
		"the management cluster's own":   {"registry.registry.svc:5000/ocp:1", func(*hcp.Objects) {}, true},
		"all mirrors are refused, too":   {"registry:5000/ocp:1", mirror("http://mirror.example.com:5000/ocp"), true},
		"none, and DNS refuses the rest": {"registry:5000/ocp:1", annotate("dns-upstreams", "none"), true},
		"by default":                     {privateRelease, func(*hcp.Objects) {}, false},
		"an address":                     {"10.9.8.7:5000/ocp:1", func(*hcp.Objects) {}, false},
		"an address on the network":      {"192.168.100.9:5000/ocp:1", func(*hcp.Objects) {}, false},
		"one mirror at an address":       {"registry:5000/ocp:1", mirror("10.9.8.7:5000/ocp"), false},
		"one mirror is allowed":          {"registry:5000/ocp:1", mirror("mirror.example.com/ocp"), false},
		"another host is allowed":        {"registry:5000/ocp:1", annotate("allowed-hosts", "auto,mirror.example.com"), false},
		"a record":                       {"registry:5000/ocp:1", annotate("dns-records", "mirror.example.com=192.168.100.7"), false},
		"a gateway":                      {"registry:5000/ocp:1", annotate("gateway", "192.168.100.1"), false},
		"another DNS server":             {"registry:5000/ocp:1", annotate("dns-upstreams", "192.168.100.53"), false},
		"another DHCP server":            {"registry:5000/ocp:1", annotate("services", "dns,proxy,ntp"), false},
		"DNS of others":                  {"registry:5000/ocp:1", annotate("services", "dhcp,proxy,ntp"), false},
		"a proxy of others":              {"registry:5000/ocp:1", annotate("services", "dhcp,dns,ntp"), false},
		"a published Service": {"registry:5000/ocp:1", func(o *hcp.Objects) {
			o.Services[0].Annotations = map[string]string{settings.Prefix + "publish": "mirror.example.com:5000"}
		}, false},
		"an HTTP proxy": {"registry:5000/ocp:1", func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: "http://192.168.100.9:3128"}}
		}, false},
		"a router that advertises IPv6": {"registry:5000/ocp:1", func(o *hcp.Objects) {
			o.HostedCluster.Spec.Networking.ClusterNetwork = append(o.HostedCluster.Spec.Networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: *ipnet.MustParseCIDR("fd01::/48")})
		}, false},
		"patched VMs": {"registry:5000/ocp:1", func(o *hcp.Objects) {
			o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = "[]"
		}, false},
		"settings of the node": {"registry:5000/ocp:1", pool(func(np *hyperv1.NodePool) { np.Spec.Config = []corev1.LocalObjectReference{{Name: "mirrors"}} }), false},
		"a disk with images": {"registry:5000/ocp:1", pool(func(np *hyperv1.NodePool) {
			disk := "quay.io/me/disk"
			np.Spec.Platform.Kubevirt.RootVolume = &hyperv1.KubevirtRootVolume{Image: &hyperv1.KubevirtDiskImage{ContainerDiskImage: &disk}}
		}), false},
		"another network": {"registry:5000/ocp:1", pool(func(np *hyperv1.NodePool) {
			k := np.Spec.Platform.Kubevirt
			k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: "clusters/storage"})
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := pulling(t, c.image)
			c.change(&o)
			_, problems := plan(o)
			found := slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Cause == problem.NoRegistryReachable })
			NewWithT(t).Expect(found).To(Equal(c.proven), "%v", problems)
		})
	}
}

// TestManagementProxy checks that NO_PROXY is applied to each host, and that a proxy with
// a password is not used.
func TestManagementProxy(t *testing.T) {
	for name, c := range map[string]struct {
		proxy httpproxy.Config
		hosts []string
		why   string
	}{
		"none":            {httpproxy.Config{}, []string{"mirror.corp.example.net:443", "registry.example.com:8443"}, ""},
		"for all":         {httpproxy.Config{HTTPSProxy: "http://proxy.example.com:3128"}, []string{"mirror.corp.example.net:443 by proxy.example.com:3128", "registry.example.com:8443 by proxy.example.com:3128"}, ""},
		"for http only":   {httpproxy.Config{HTTPProxy: "http://proxy.example.com:3128"}, []string{"mirror.corp.example.net:443", "registry.example.com:8443"}, ""},
		"its port":        {httpproxy.Config{HTTPSProxy: "proxy.example.com", NoProxy: ".corp.example.net"}, []string{"mirror.corp.example.net:443", "registry.example.com:8443 by proxy.example.com:80"}, ""},
		"with a password": {httpproxy.Config{HTTPSProxy: "http://me:hunter2@proxy.example.com:3128", NoProxy: "corp.example.net"}, []string{"mirror.corp.example.net:443"}, "It must be a valid http:// URL, without a user or password. Nodes cannot pull images from registry.example.com."},
		"over TLS":        {httpproxy.Config{HTTPSProxy: "https://proxy.example.com", NoProxy: "corp.example.net"}, []string{"mirror.corp.example.net:443"}, "It must be a valid http:// URL"},
		"unreadable":      {httpproxy.Config{HTTPSProxy: "http://me:hunter2@proxy:port"}, nil, "HTTPS_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := pulling(t, privateRelease)
			o.HostedCluster.Annotations[settings.Prefix+"allowed-hosts"] = "auto,mirror.corp.example.net"
			o.Proxy = c.proxy
			hosts, problems := externalHosts(o)
			g.Expect(hosts).To(Equal(c.hosts))
			detail := messageOf(problems, problem.ImagesUnreachable)
			g.Expect(detail).To(ContainSubstring(c.why))
			g.Expect(detail == "").To(Equal(c.why == ""))
			g.Expect(strings.Contains(detail, "hunter2")).To(BeFalse(), "the message contains the password")
		})
	}
}

// TestManyMirrors: HyperShift's API allows 65,025 mirrors in one HostedCluster. Hosted clusters share the operator, so a cluster with all
// of them must not use its time. The registry of the release image and the hosts in the annotation are still served.
func TestManyMirrors(t *testing.T) {
	g := NewWithT(t)
	o := pulling(t, privateRelease)
	o.HostedCluster.Annotations[settings.Prefix+"allowed-hosts"] = "auto,zz.example.com"
	for i := range 255 {
		var mirrors []string
		for j := range 255 {
			mirrors = append(mirrors, fmt.Sprintf("m%d-%d.example.com/ocp", i, j))
		}
		o.HostedCluster.Spec.ImageContentSources = append(o.HostedCluster.Spec.ImageContentSources, hyperv1.ImageContentSource{Source: "quay.io/x", Mirrors: mirrors})
	}
	hosts, problems := externalHosts(o)
	g.Expect(hosts).To(And(HaveLen(257), ContainElements("registry.example.com:8443", "m0-0.example.com:443", "zz.example.com:443")))
	g.Expect(problems).To(ContainElement(And(HaveField("Severity", problem.SeverityWarning), WithTransform(message, ContainSubstring("cannot reach 64770 of the mirrors")))))
}

// TestHostsThatNoObjectNames: a hint reports a registry that might redirect, until the user allows hosts.
func TestHostsThatNoObjectNames(t *testing.T) {
	mirrors := func(all ...string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io/openshift-release-dev/ocp-v4.0-art-dev", Mirrors: all}}
		}
	}
	const openshift = "quay.io/openshift-release-dev/ocp-release:4.20"
	for name, c := range map[string]struct {
		image string
		given func(*hcp.Objects)
		want  string
	}{
		"a private registry":               {privateRelease, nil, "registry.example.com:8443"},
		"a private registry with mirrors":  {privateRelease, mirrors("Mirror.example.com:5000/ocp/release", "mirror.example.com:5000/other"), "mirror.example.com:5000, registry.example.com:8443"},
		"Red Hat's, whose hosts are known": {openshift, nil, ""},
		"Red Hat's, with a mirror":         {openshift, mirrors("mirror.example.com/ocp"), "mirror.example.com"},
		"named":                            {privateRelease, func(o *hcp.Objects) { annotate(o, "allowed-hosts", "auto,registry.example.com:8443") }, ""},
		"none":                             {privateRelease, func(o *hcp.Objects) { annotate(o, "allowed-hosts", "none") }, ""},
		"a gateway":                        {privateRelease, func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.1") }, ""},
		"on the network":                   {privateRelease, func(o *hcp.Objects) { annotate(o, "dns-records", "registry.example.com=192.168.100.7") }, ""},
		"at an address on the network":     {"192.168.100.7:5000/ocp/release:4.20", nil, ""},
		"at another address":               {"10.9.8.7:5000/ocp/release:4.20", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := pulling(t, c.image)
			if c.given != nil {
				c.given(&o)
			}
			_, ps := translated(o)
			told := ""
			for _, p := range causesOf(ps, problem.RegistryMayRedirect) {
				told = string(p.Severity) + " " + p.Args["hosts"].String()
			}
			NewWithT(t).Expect(strings.TrimPrefix(told, "Info ")).To(Equal(c.want))
		})
	}
}

// TestAllowedRegistryRedirects: a known registry in annotation allowed-hosts includes the hosts to which it redirects.
func TestAllowedRegistryRedirects(t *testing.T) {
	for registry, host := range map[string]string{
		"quay.io":                     "cdn06.quay.io:443",
		"registry.redhat.io":          "access.redhat.com:443",
		"docker.io":                   "production.cloudflare.docker.com:443",
		"registry.connect.redhat.com": "oso-rhc4tp-docker-registry.s3-us-west-2.amazonaws.com:443",
	} {
		o := pulling(t, "192.168.100.7:5000/ocp/release:4.20")
		annotate(&o, "allowed-hosts", "auto,"+registry)
		hosts, _ := externalHosts(o)
		NewWithT(t).Expect(hosts).To(ContainElement(host), registry)
	}
}

// TestReleaseThatRuns: while a cluster is updated to a release on another registry, its nodes still pull from the registry of the running
// release. Registries of earlier releases are not allowed.
func TestReleaseThatRuns(t *testing.T) {
	g := NewWithT(t)
	o := pulling(t, privateRelease)
	o.HostedCluster.Status.Version = &hyperv1.ClusterVersionStatus{History: []configv1.UpdateHistory{
		{State: configv1.PartialUpdate, Image: privateRelease},
		{State: configv1.CompletedUpdate, Image: "running.example.com/ocp/release:4.19"},
		{State: configv1.CompletedUpdate, Image: "former.example.com/ocp/release:4.18"},
	}}
	hosts, _ := externalHosts(o)
	g.Expect(hosts).To(HaveExactElements("registry.example.com:8443", "running.example.com:443"))
}
