package hcp_test

import (
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestImagesFromAddresses: a registry or an HTTP proxy at an address that edges have, or that nodes look for inside the hosted cluster, gives nodes no
// images. DHCP gives its address to no VM.
func TestImagesFromAddresses(t *testing.T) {
	proxy := func(at string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: at, HTTPSProxy: at, NoProxy: controlPlane}}
		}
	}
	const oauth = "oauth-clusters-blue.apps.mgmt.example.com"
	gateway := annotated("gateway", "192.168.100.1")
	router := func(o *hcp.Objects) { withRouter(o, "10.240.0.201") }
	squid := func(o *hcp.Objects) {
		s := *o.Services[0].DeepCopy()
		s.Name, s.Annotations, s.Spec.Ports[0].Port = "squid", map[string]string{settings.Prefix + "publish": "proxy.corp.example:3128"}, 3128
		o.Services = append(o.Services, s)
	}
	for name, c := range map[string]struct {
		given []change
		want  problem.Cause
		hosts string
	}{
		"a proxy on the network":                   {given: []change{proxy("http://192.168.100.9:3128")}},
		"a proxy at the next-hop VIP":              {[]change{proxy("http://192.168.100.2:3128")}, problem.ImagesFromEdge, "192.168.100.2:3128"},
		"a proxy at the service VIP":               {[]change{proxy("http://192.168.100.3:3128")}, problem.ImagesFromEdge, "192.168.100.3:3128"},
		"a proxy at an edge":                       {[]change{proxy("http://192.168.100.4")}, problem.ImagesFromEdge, "192.168.100.4:80"},
		"a proxy at the address for a second edge": {[]change{proxy("http://192.168.100.5:3128")}, problem.ImagesFromEdge, "192.168.100.5:3128"},
		"a proxy at an edge, and a gateway":        {[]change{gateway, proxy("https://192.168.100.3:3128")}, problem.ImagesFromEdge, "192.168.100.3:3128"},
		"a proxy at edges' other addresses":        {[]change{annotated("edge-addresses", "192.168.100.1,192.168.100.8,192.168.100.9,192.168.100.254"), proxy("http://192.168.100.3:3128")}, "", ""},
		"a proxy at the broadcast address":         {[]change{proxy("http://192.168.100.255:3128")}, problem.HostedProxyUnreachable, ""},
		"a proxy among pods, and a gateway":        {[]change{gateway, proxy("http://10.133.9.9:3128")}, problem.ImagesInHostedCluster, "10.133.9.9:3128"},
		"a proxy behind the gateway":               {[]change{gateway, proxy("http://10.9.9.9:3128")}, "", ""},
		"a registry on the network":                {given: []change{release("192.168.100.7:5000/r:1")}},
		"a registry at an edge":                    {[]change{release("192.168.100.3:5000/r:1")}, problem.ImagesFromEdge, "192.168.100.3:5000"},
		"a registry with two addresses":            {[]change{release("registry.example.com/r:1"), annotated("dns-records", "Registry.example.com=192.168.100.3,registry.example.com=192.168.100.7")}, problem.ImagesFromEdge, "192.168.100.3:443"},
		"a registry at the published API":          {[]change{release("10.240.0.200:5000/r:1")}, problem.ImagesFromEdge, "10.240.0.200:5000"},
		"a registry among Services, and a gateway": {[]change{gateway, release("172.31.4.4:5000/r:1")}, problem.ImagesInHostedCluster, "172.31.4.4:5000"},
		"a proxy that edges publish at the VIP":    {[]change{squid, proxy("http://192.168.100.3:3128")}, "", ""},

		"a registry with a published name, and a gateway":       {[]change{gateway, release(oauth + ":5000/r:1")}, problem.ImagesFromEdge, oauth + ":5000"},
		"a proxy with a published name, and a gateway":          {[]change{gateway, proxy("http://" + oauth + ":3128")}, problem.ImagesFromEdge, oauth + ":3128"},
		"a registry below *.apps, and a gateway":                {[]change{gateway, router, release("m.apps.blue.example.com:5000/r:1")}, problem.ImagesFromEdge, "m.apps.blue.example.com:5000"},
		"the same, and a record of the user":                    {[]change{gateway, router, release("m.apps.blue.example.com:5000/r:1"), annotated("dns-records", "m.apps.blue.example.com=10.9.9.9")}, "", ""},
		"the same, and the ingress has a load balancer":         {[]change{gateway, func(o *hcp.Objects) { withRouter(o, "192.168.100.80") }, release("m.apps.blue.example.com:5000/r:1")}, "", ""},
		"the same, and edges serve no names":                    {[]change{gateway, router, release("m.apps.blue.example.com:5000/r:1"), annotated("services", "dhcp,proxy,ntp")}, "", ""},
		"a registry with a published name, published there too": {[]change{gateway, squid, release("proxy.corp.example:3128/r:1")}, "", ""},
		"a registry with a published name, and it is allowed":   {[]change{gateway, release(oauth + ":5000/r:1"), annotated("allowed-hosts", "auto,"+oauth+":5000")}, "", ""},
		"a registry at what nodes have, and a gateway":          {[]change{gateway, release("172.20.0.1:5000/r:1")}, problem.ImagesInHostedCluster, "172.20.0.1:5000"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			for _, x := range c.given {
				x(&o)
			}
			_, ps := plan(o)
			ps = causesOf(ps, problem.ImagesFromEdge, problem.ImagesInHostedCluster, problem.HostedProxyUnreachable)
			if c.want == "" {
				g.Expect(ps).To(BeEmpty())
				return
			}
			g.Expect(ps).To(HaveExactElements(HaveField("Cause", c.want)))
			if c.hosts != "" {
				g.Expect(ps[0].Args["hosts"]).To(Equal(problem.Values{c.hosts}))
			}
		})
	}
	o := served(t)
	proxy("http://192.168.100.77:3128")(&o)
	openID("https://192.168.100.78")(&o)
	o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "router"}, Status: balancedAt("192.168.100.79")})
	p, _ := plan(o)
	NewWithT(t).Expect(network.Texts(p.Networks[0].DHCP.Named)).To(Equal([]string{"192.168.100.77", "192.168.100.78", "192.168.100.79"}))
}

// TestImageNamesBehindGateway: nodes that have a gateway reach registries themselves, and need a DNS server that knows them.
func TestImageNamesBehindGateway(t *testing.T) {
	gateway, alone := annotated("gateway", "192.168.100.1"), annotated("dns-upstreams", "none")
	proxy := func(o *hcp.Objects) {
		o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPSProxy: "http://proxy.corp.example:3128"}}
	}
	unused := func(o *hcp.Objects) {
		proxy(o)
		o.HostedCluster.Spec.Configuration.Proxy.NoProxy = "registry.example.com"
	}
	mirrors := func(all ...string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "registry.example.com/ocp", Mirrors: all}}
		}
	}
	of := release("registry.example.com/ocp/release:4.20")
	for name, c := range map[string]struct {
		given []change
		hosts string
	}{
		"other names are asked":         {[]change{of, gateway}, ""},
		"no other name is known":        {[]change{of, gateway, alone}, "registry.example.com"},
		"the user has a record":         {[]change{of, gateway, alone, annotated("dns-records", "registry.example.com=10.9.9.9")}, ""},
		"edges forward to the registry": {[]change{of, gateway, alone, annotated("allowed-hosts", "auto")}, ""},
		"no host is allowed":            {[]change{of, gateway, alone, annotated("allowed-hosts", "none")}, "registry.example.com"},
		"VMs have another DNS server":   {[]change{of, gateway, alone, annotated("services", "dhcp,proxy,ntp")}, ""},
		"a proxy":                       {[]change{of, gateway, alone, proxy}, "proxy.corp.example:3128"},
		"a proxy that no image needs":   {[]change{of, gateway, alone, annotated("dns-records", "registry.example.com=10.9.9.9"), unused}, ""},
		"an address":                    {[]change{release("10.9.9.9:5000/r:1"), gateway, alone}, ""},
		"a mirror is known":             {[]change{of, gateway, alone, annotated("dns-records", "mirror.example.com=10.9.9.9"), mirrors("mirror.example.com/m", "other.example.com/m")}, ""},
		"no mirror is known":            {[]change{of, gateway, alone, mirrors("mirror.example.com/m")}, "mirror.example.com, registry.example.com"},
		"no gateway":                    {[]change{of, alone}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			for _, x := range c.given {
				x(&o)
			}
			_, ps := plan(o)
			ps = causesOf(ps, problem.ImageNamesUnresolved)
			if c.hosts == "" {
				g.Expect(ps).To(BeEmpty())
				return
			}
			g.Expect(ps).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("hosts", problem.Values(strings.Split(c.hosts, ", "))))))
		})
	}
}

// TestRecordsOfDialedHosts: a name with a record of the user counts as the address that edges resolve it to. A name that edges publish is
// served, whatever the record.
func TestRecordsOfDialedHosts(t *testing.T) {
	of := release("m.corp.example.net:5000/ocp/release:4.20")
	proxy := func(o *hcp.Objects) {
		const at = "http://proxy.corp.example.net:3128"
		o.HostedCluster.Spec.Configuration.Proxy = &configv1.ProxySpec{HTTPProxy: at, HTTPSProxy: at, NoProxy: controlPlane}
	}
	for name, c := range map[string]struct {
		given            []change
		records          string
		images, provider []string
	}{
		"a registry":                   {[]change{of}, "m.corp.example.net=10.133.0.1", []string{"10.133.0.1:5000"}, nil},
		"a registry below a wildcard":  {[]change{of}, "*.corp.example.net=192.168.100.3", []string{"192.168.100.3:5000"}, nil},
		"a registry with two records":  {[]change{of}, "*.corp.example.net=192.168.100.3,m.corp.example.net=192.168.100.9,*.net=192.168.100.4", []string{"192.168.100.9:5000"}, nil},
		"a short name":                 {[]change{of}, "*.corp.example.net=192.168.100.3,x.corp.example.net=192.168.100.9", []string{"192.168.100.3:5000"}, nil},
		"a registry that is published": {[]change{of, publishes("m.corp.example.net:5000", 5000)}, "*.corp.example.net=192.168.100.3", nil, nil},
		"an HTTP proxy":                {[]change{proxy}, "proxy.corp.example.net=10.133.0.1", []string{"10.133.0.1:3128"}, nil},
		"an identity provider":         {[]change{openID("https://kc.corp.example.net")}, "kc.corp.example.net=192.168.100.3", nil, []string{"192.168.100.3:443"}},
		"LDAP":                         {[]change{ldap("ldaps://l.corp.example.net/x")}, "l.corp.example.net=10.133.0.9", nil, []string{"10.133.0.9:636"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in, _ := translated(reaching(t, append(c.given, annotated("dns-records", c.records))...))
			texts := func(all []netip.AddrPort) (out []string) {
				for _, a := range all {
					out = append(out, a.String())
				}
				return out
			}
			g.Expect(texts(in.ImageHosts)).To(Equal(c.images))
			g.Expect(texts(in.ProviderHosts)).To(Equal(c.provider))
		})
	}
	_, ps := plan(reaching(t, of, annotated("dns-records", "*.corp.example.net=192.168.100.3"), annotated("allowed-hosts", "none")))
	NewWithT(t).Expect(ps).To(ContainElement(HaveField("Cause", problem.ImagesFromEdge)))
}

// TestHostsBelowTheIngress: the ingress runs on nodes, so they pull no image there. A registry below a name of the ingress, and a host
// that the user allows, are outside.
func TestHostsBelowTheIngress(t *testing.T) {
	g := NewWithT(t)
	const host = "keycloak.apps.blue.example.com"
	p, ps := plan(reaching(t, annotated(network.KeyAppsAddress, "192.168.100.6"), annotated(network.KeyAllowedHosts, "auto,"+host)))
	g.Expect(resolves(p, host)).To(Equal(p.Networks[0].ServiceVIP), "it takes precedence over *.apps")
	g.Expect(ps).To(ContainElement(HaveField("Cause", problem.AllowedHostOfIngress)))
	p, _ = plan(reaching(t, annotated(network.KeyAppsAddress, "192.168.100.6"), func(o *hcp.Objects) {
		o.HostedCluster.Spec.Release.Image = "registry.apps.blue.example.com/ocp/release:4.20"
		o.NodePools[0].Spec.Release.Image = o.HostedCluster.Spec.Release.Image
	}))
	g.Expect(resolves(p, "registry.apps.blue.example.com")).To(Equal(p.Networks[0].ServiceVIP))
}

// TestRedirectsOfARecordedRegistry: nodes reach the hosts that a registry redirects to, also where a record of the user has the registry.
func TestRedirectsOfARecordedRegistry(t *testing.T) {
	g := NewWithT(t)
	p, _ := plan(reaching(t, annotated(network.KeyRecords, "quay.io=192.168.100.7"), func(o *hcp.Objects) {
		o.HostedCluster.Spec.Release.Image = "quay.io/openshift-release-dev/ocp-release:4.20"
		o.NodePools[0].Spec.Release.Image = o.HostedCluster.Spec.Release.Image
	}))
	g.Expect(resolves(p, "quay.io").String()).To(Equal("192.168.100.7"))
	g.Expect(resolves(p, "cdn01.quay.io")).To(Equal(p.Networks[0].ServiceVIP))
}
