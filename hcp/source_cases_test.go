package hcp_test

import (
	"cmp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestIdentityProvidersAtEdges: an identity provider at an address that edges hold is a Warning, unless edges forward connections from there.
func TestIdentityProvidersAtEdges(t *testing.T) {
	openID := func(url string) configv1.IdentityProviderConfig {
		return configv1.IdentityProviderConfig{OpenID: &configv1.OpenIDIdentityProvider{Issuer: url}}
	}
	ldap := func(url string) configv1.IdentityProviderConfig {
		return configv1.IdentityProviderConfig{LDAP: &configv1.LDAPIdentityProvider{URL: url}}
	}
	for name, c := range map[string]struct {
		of               configv1.IdentityProviderConfig
		proxy, published string
		hosts            problem.Values
	}{
		"the next-hop VIP":                  {of: openID("https://192.168.100.2"), hosts: problem.Values{"192.168.100.2:443"}},
		"the service VIP":                   {of: openID("https://192.168.100.3:8443"), hosts: problem.Values{"192.168.100.3:8443"}},
		"an edge":                           {of: openID("http://192.168.100.4"), hosts: problem.Values{"192.168.100.4:80"}},
		"LDAP":                              {of: ldap("ldaps://192.168.100.3/o=corp"), hosts: problem.Values{"192.168.100.3:636"}},
		"LDAP, which uses no HTTP proxy":    {of: ldap("ldap://192.168.100.3"), proxy: "http://192.168.100.9:3128", hosts: problem.Values{"192.168.100.3:389"}},
		"a host on the network":             {of: openID("https://192.168.100.9")},
		"the API":                           {of: openID("https://10.240.0.200:6443"), hosts: problem.Values{"10.240.0.200:6443"}},
		"a Service that is published alone": {of: openID("https://192.168.100.3:8443"), published: "idp.corp.example:8443"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{OAuth: &configv1.OAuthSpec{IdentityProviders: []configv1.IdentityProvider{{Name: "corp", IdentityProviderConfig: c.of}}}}
			if c.proxy != "" {
				o.HostedCluster.Spec.Configuration.Proxy = &configv1.ProxySpec{HTTPProxy: c.proxy, HTTPSProxy: c.proxy}
			}
			if c.published != "" {
				o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "idp", Annotations: map[string]string{settings.Prefix + network.KeyPublish: c.published}},
					Spec: corev1.ServiceSpec{ClusterIP: "10.96.71.9", Ports: []corev1.ServicePort{{Name: "one", Port: 8443, Protocol: corev1.ProtocolTCP}}}})
			}
			_, ps := plan(o)
			var hosts problem.Values
			for _, p := range causesOf(ps, problem.IdentityProviderIsEdge) {
				hosts = append(hosts, p.Args["hosts"]...)
			}
			g.Expect(hosts).To(Equal(c.hosts))
		})
	}
}

// TestRegistriesThatMayLackTLS: edges forward by TLS server name, so a registry that nodes may use without TLS is a hint, until the user names it.
func TestRegistriesThatMayLackTLS(t *testing.T) {
	for name, c := range map[string]struct {
		insecure string
		given    func(*hcp.Objects)
		hint     bool
		want     string // "": m.corp.example:5000
	}{
		"Docker Hub, which clients dial by another name": {insecure: "docker.io", hint: true, want: "registry-1.docker.io", given: func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io/a", Mirrors: []string{"docker.io/a"}}}
		}},
		"its name":                {insecure: "m.corp.example:5000", hint: true},
		"a part of it":            {insecure: "m.corp.example:5000/team", hint: true},
		"all below its domain":    {insecure: "*.corp.example", hint: true},
		"another port":            {insecure: "m.corp.example"},
		"another one":             {insecure: "other.corp.example:5000"},
		"a host on the network":   {insecure: "m.corp.example:5000", given: func(o *hcp.Objects) { settle(o, network.KeyRecords, "m.corp.example=192.168.100.7") }},
		"one that the user named": {insecure: "m.corp.example:5000", given: func(o *hcp.Objects) { settle(o, network.KeyAllowedHosts, "auto,m.corp.example:5000") }},
		"nodes with a gateway":    {insecure: "m.corp.example:5000", given: func(o *hcp.Objects) { settle(o, "gateway", "192.168.100.1") }},
		"nodes with an HTTP proxy": {insecure: "m.corp.example:5000", given: func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration.Proxy = &configv1.ProxySpec{HTTPProxy: "http://192.168.100.9:3128", HTTPSProxy: "http://192.168.100.9:3128"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io/a", Mirrors: []string{"m.corp.example:5000/a"}}}
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Image: &configv1.ImageSpec{RegistrySources: configv1.RegistrySources{InsecureRegistries: []string{c.insecure}}}}
			if c.given != nil {
				c.given(&o)
			}
			_, ps := plan(o)
			var hosts problem.Values
			for _, p := range causesOf(ps, problem.RegistryMayLackTLS) {
				hosts = append(hosts, p.Args["hosts"]...)
			}
			if c.hint {
				g.Expect(hosts).To(Equal(problem.Values{cmp.Or(c.want, "m.corp.example:5000")}))
				return
			}
			g.Expect(hosts).To(BeEmpty())
		})
	}
}

// TestHostedNetworksThatOverlap: HyperShift refuses such a cluster before it creates anything. A problem reports that, and names both
// fields.
func TestHostedNetworksThatOverlap(t *testing.T) {
	pods := func(all ...string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Networking.ClusterNetwork = nil
			for _, cidr := range all {
				o.HostedCluster.Spec.Networking.ClusterNetwork = append(o.HostedCluster.Spec.Networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: *ipnet.MustParseCIDR(cidr)})
			}
		}
	}
	machines := func(all ...string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Networking.MachineNetwork = nil
			for _, cidr := range all {
				o.HostedCluster.Spec.Networking.MachineNetwork = append(o.HostedCluster.Spec.Networking.MachineNetwork, hyperv1.MachineNetworkEntry{CIDR: *ipnet.MustParseCIDR(cidr)})
			}
		}
	}
	for name, c := range map[string]struct {
		given  func(*hcp.Objects)
		fields string
	}{
		"none":                              {func(*hcp.Objects) {}, ""},
		"pods with the default join subnet": {pods("100.64.0.0/10"), "clusterNetwork, default join subnet"},
		"the same with another plugin": {func(o *hcp.Objects) {
			pods("100.64.0.0/10")(o)
			o.HostedCluster.Spec.Networking.NetworkType = hyperv1.Calico
		}, ""},
		"pods with themselves":           {pods("10.132.0.0/14", "10.134.0.0/16"), "clusterNetwork, clusterNetwork"},
		"pods with Services":             {pods("172.24.0.0/13"), "clusterNetwork, serviceNetwork"},
		"pods with the API's address":    {pods("172.16.0.0/13"), "clusterNetwork, advertiseAddress"},
		"a second machine network":       {machines("192.168.100.0/24", "172.31.9.0/24"), "serviceNetwork, machineNetwork"},
		"that of VMs, which is an Error": {machines("172.31.9.0/24"), ""},
		"IPv6":                           {pods("10.132.0.0/14", "fd01::/48", "fd01:0:0:1::/64"), "clusterNetwork, clusterNetwork"},
		"the join subnet that moved":     {func(o *hcp.Objects) { o.JoinSubnet = "100.70.0.0/16" }, ""},
		"the join subnet as by default":  {func(o *hcp.Objects) { o.JoinSubnet = "100.66.0.0/16" }, "default join subnet, v4InternalSubnet"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			c.given(&o)
			_, ps := plan(o)
			var fields []string
			for _, p := range causesOf(ps, problem.HostedNetworksOverlap) {
				fields = append(fields, p.Args["field"][0]+", "+p.Args["otherField"][0])
			}
			g.Expect(strings.Join(fields, "; ")).To(Equal(c.fields))
		})
	}
}
