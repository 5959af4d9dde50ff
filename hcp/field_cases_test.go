package hcp_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// resolves returns what VMs on the first network of p get for a name. Invalid: nothing.
func resolves(p network.Plan, name string) netip.Addr {
	for _, r := range p.Networks[0].DNS.Views[0].Records {
		if r.Name == name {
			return r.Addresses[0]
		}
	}
	return netip.Addr{}
}

// TestImagesOfNodes: nodes reach the registry of each image that HyperShift gives them, whichever field or annotation names it. The list is
// that of HyperShift's source, in all versions that docs/install.md names.
func TestImagesOfNodes(t *testing.T) {
	on := func(key, value string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			if o.HostedCluster.Annotations == nil {
				o.HostedCluster.Annotations = map[string]string{}
			}
			o.HostedCluster.Annotations[key] = value
		}
	}
	guest := func(o *hcp.Objects) {
		o.HostedCluster.Spec.OLMCatalogPlacement = hyperv1.GuestOLMCatalogPlacement
		o.HostedCluster.Spec.Configuration = nil
	}
	const image = "other.corp.example/a/b@sha256:1"
	ofControlPlane := func(o *hcp.Objects) { o.HostedCluster.Spec.ControlPlaneRelease = &hyperv1.Release{Image: image} }
	throughProxy := func(o *hcp.Objects) { // The static pod for that has the operator's image.
		o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPSProxy: "http://192.168.100.8:3128", NoProxy: "other.corp.example"}}
	}
	for name, c := range map[string]struct {
		given []func(*hcp.Objects)
		host  string
		not   bool
	}{
		"konnectivity agent": {given: []func(*hcp.Objects){on("hypershift.openshift.io/konnectivity-agent-image", image)}},
		"proxy to the API": {given: []func(*hcp.Objects){func(o *hcp.Objects) {
			o.NodePools[0].Annotations = map[string]string{"hypershift.openshift.io/haproxy-image": " " + image}
		}}},
		"control plane operator, which runs on no node":         {given: []func(*hcp.Objects){on("hypershift.openshift.io/control-plane-operator-image", image)}, not: true},
		"release of the control plane, which has that operator": {given: []func(*hcp.Objects){ofControlPlane}, not: true},
		"control plane operator, and nodes have a proxy":        {given: []func(*hcp.Objects){on("hypershift.openshift.io/control-plane-operator-image", image), throughProxy}},
		"release of the control plane, and nodes have a proxy":  {given: []func(*hcp.Objects){ofControlPlane, throughProxy}},
		"an override": {given: []func(*hcp.Objects){on("hypershift.openshift.io/image-overrides", "ovn-kubernetes="+image+",cli=quay.io/x")}},
		"an override of images in the control plane":   {given: []func(*hcp.Objects){on("hypershift.openshift.io/image-overrides", "cluster-version-operator="+image+",etcd="+image)}, not: true},
		"catalogs in the cluster":                      {given: []func(*hcp.Objects){guest}, host: "registry.redhat.io"},
		"catalogs in the cluster, of another registry": {given: []func(*hcp.Objects){guest, on("hypershift.openshift.io/olm-catalogs-is-registry-overrides", "registry.redhat.io=other.corp.example")}},
		"catalogs in the management cluster":           {host: "registry.redhat.io", not: true},
		"a catalog's image, in the management cluster": {given: []func(*hcp.Objects){on("hypershift.openshift.io/redhat-operators-catalog-image", image)}, not: true},
		"konnectivity's server, in the control plane":  {given: []func(*hcp.Objects){on("hypershift.openshift.io/konnectivity-server-image", image)}, not: true},
		"catalogs in the cluster, but none by default": {host: "registry.redhat.io", not: true, given: []func(*hcp.Objects){guest, func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{OperatorHub: &configv1.OperatorHubSpec{DisableAllDefaultSources: true}}
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			for _, change := range c.given {
				change(&o)
			}
			host := "other.corp.example"
			if c.host != "" {
				host = c.host
			}
			p, _ := plan(o)
			g.Expect(resolves(p, host).IsValid()).To(Equal(!c.not))
		})
	}
}

// TestIdentityProviders: the control plane dials identity providers from the nodes. One that nodes do not reach is a Warning, and
// annotation allowed-hosts fixes it.
func TestIdentityProviders(t *testing.T) {
	of := func(c configv1.IdentityProviderConfig) *hyperv1.ClusterConfiguration {
		return &hyperv1.ClusterConfiguration{OAuth: &configv1.OAuthSpec{IdentityProviders: []configv1.IdentityProvider{{Name: "corp", IdentityProviderConfig: c}}}}
	}
	url := configv1.OAuthRemoteConnectionInfo{URL: "https://idp.corp.example/login"}
	for name, c := range map[string]struct {
		of    *hyperv1.ClusterConfiguration
		hosts string
	}{
		"OpenID":                {of(configv1.IdentityProviderConfig{OpenID: &configv1.OpenIDIdentityProvider{Issuer: "https://idp.corp.example/realm"}}), "idp.corp.example"},
		"OpenID at a port":      {of(configv1.IdentityProviderConfig{OpenID: &configv1.OpenIDIdentityProvider{Issuer: "https://IDP.corp.example:8443"}}), "idp.corp.example:8443"},
		"OpenID of a cloud":     {of(configv1.IdentityProviderConfig{OpenID: &configv1.OpenIDIdentityProvider{Issuer: "https://login.microsoftonline.com/x"}}), "login.microsoftonline.com, graph.microsoft.com"},
		"OpenID on the network": {of(configv1.IdentityProviderConfig{OpenID: &configv1.OpenIDIdentityProvider{Issuer: "https://192.168.100.9"}}), ""},
		"basic authentication":  {of(configv1.IdentityProviderConfig{BasicAuth: &configv1.BasicAuthIdentityProvider{OAuthRemoteConnectionInfo: url}}), "idp.corp.example"},
		"Keystone":              {of(configv1.IdentityProviderConfig{Keystone: &configv1.KeystoneIdentityProvider{OAuthRemoteConnectionInfo: url}}), "idp.corp.example"},
		"GitLab":                {of(configv1.IdentityProviderConfig{GitLab: &configv1.GitLabIdentityProvider{URL: url.URL}}), "idp.corp.example"},
		"GitHub":                {of(configv1.IdentityProviderConfig{GitHub: &configv1.GitHubIdentityProvider{}}), "github.com, api.github.com"},
		"GitHub Enterprise":     {of(configv1.IdentityProviderConfig{GitHub: &configv1.GitHubIdentityProvider{Hostname: "git.corp.example"}}), "git.corp.example"},
		"Google":                {of(configv1.IdentityProviderConfig{Google: &configv1.GoogleIdentityProvider{}}), "www.googleapis.com"},
		"LDAP, which the management cluster dials": {of(configv1.IdentityProviderConfig{LDAP: &configv1.LDAPIdentityProvider{URL: "ldaps://ldap.corp.example"}}), ""},
		"passwords": {of(configv1.IdentityProviderConfig{HTPasswd: &configv1.HTPasswdIdentityProvider{}}), ""},
		"OIDC, of the console": {&hyperv1.ClusterConfiguration{Authentication: &configv1.AuthenticationSpec{Type: configv1.AuthenticationTypeOIDC,
			OIDCProviders: []configv1.OIDCProvider{{Name: "corp", Issuer: configv1.TokenIssuer{URL: "https://idp.corp.example"}}}}}, "idp.corp.example"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.Configuration = c.of
			about := func() (out problem.Problems) {
				_, ps := plan(o)
				return slices.DeleteFunc(ps, func(p problem.Problem) bool { return p.Cause != problem.IdentityProviderUnreachable })
			}
			if c.hosts == "" {
				g.Expect(about()).To(BeEmpty())
				return
			}
			g.Expect(about()).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("hosts", problem.Values(strings.Split(c.hosts, ", "))))))
			settle(&o, network.KeyAllowedHosts, "auto,idp.corp.example,github.com,api.github.com,git.corp.example,www.googleapis.com,login.microsoftonline.com,graph.microsoft.com")
			if c.hosts != "idp.corp.example:8443" {
				g.Expect(about()).To(BeEmpty())
			}
			settle(&o, network.KeyAllowedHosts, "auto")
			settle(&o, "gateway", "192.168.100.1")
			g.Expect(about()).To(BeEmpty(), "nodes have a gateway")
		})
	}
}

// settle sets an annotation of o's HostedCluster.
func settle(o *hcp.Objects, key, value string) {
	if o.HostedCluster.Annotations == nil {
		o.HostedCluster.Annotations = map[string]string{}
	}
	o.HostedCluster.Annotations[settings.Prefix+key] = value
}

// TestFurtherNamesOfTheIngress: each name of the hosted cluster's console leads to the ingress, not only names below *.apps.
func TestFurtherNamesOfTheIngress(t *testing.T) {
	routes := func(hosts ...configv1.Hostname) []configv1.ComponentRouteSpec {
		var out []configv1.ComponentRouteSpec
		for _, h := range hosts {
			out = append(out, configv1.ComponentRouteSpec{Namespace: "openshift-console", Name: "console", Hostname: h})
		}
		return out
	}
	for name, c := range map[string]struct {
		ingress configv1.IngressSpec
		all     []string
	}{
		"a route of its own": {configv1.IngressSpec{ComponentRoutes: routes("Console.corp.example")}, []string{"*.apps.blue.example.com", "console.corp.example"}},
		"one below *.apps":   {configv1.IngressSpec{ComponentRoutes: routes("console.apps.blue.example.com")}, []string{"*.apps.blue.example.com"}},
		"domain and appsDomain": {configv1.IngressSpec{Domain: "one.example.com", AppsDomain: "two.example.com", ComponentRoutes: routes("x.one.example.com")},
			[]string{"*.two.example.com", "console-openshift-console.one.example.com", "downloads-openshift-console.one.example.com", "x.one.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &c.ingress}
			settle(&o, network.KeyAppsAddress, "192.168.100.6")
			p, _ := plan(o)
			for _, n := range c.all {
				g.Expect(resolves(p, n).String()).To(Equal("192.168.100.6"), n)
			}
		})
	}
}

// TestFurtherNamesOfNoIngress: where nothing serves the ingress, the problem names each of its names.
func TestFurtherNamesOfNoIngress(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &configv1.IngressSpec{ComponentRoutes: []configv1.ComponentRouteSpec{{Hostname: "console.corp.example"}}}}
	_, ps := plan(o)
	g.Expect(ps).To(ContainElement(And(HaveField("Cause", problem.IngressAddressMissing), HaveField("Args", HaveKeyWithValue("name", problem.Values{"*.apps.blue.example.com", "console.corp.example"})))))
}

// TestPassthroughByDefault: without a base domain, HyperShift's webhook turns base domain passthrough on when the cluster is created. It may not be installed.
func TestPassthroughByDefault(t *testing.T) {
	for name, c := range map[string]struct {
		passthrough *bool
		exists      bool
		want        problem.Cause
	}{
		"passthrough":                        {new(true), true, problem.BaseDomainPending},
		"a cluster that was created without": {nil, true, problem.BaseDomainMissing},
		"no passthrough":                     {new(false), true, problem.BaseDomainMissing},
		"a file":                             {nil, false, problem.BaseDomainPending},
		"a file that turns it off":           {new(false), false, problem.BaseDomainMissing},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.DNS.BaseDomain = ""
			o.HostedCluster.Spec.Platform.Kubevirt.BaseDomainPassthrough = c.passthrough
			if !c.exists {
				o.HostedCluster.CreationTimestamp = metav1.Time{}
			}
			_, ps := plan(o)
			g.Expect(causesOf(ps, problem.BaseDomainPending, problem.BaseDomainMissing)).To(HaveExactElements(HaveField("Cause", c.want)))
		})
	}
}

// TestGuestNetworksByDefault: a network that overlaps the default networks of a hosted cluster is refused, and one of OVN-Kubernetes wherever it was moved.
func TestGuestNetworksByDefault(t *testing.T) {
	for name, c := range map[string]struct {
		cidr, join, ipv4 string
		networks         bool
		causes           []problem.Cause
	}{
		"the default pod network":                                      {cidr: "10.133.0.0/24", causes: []problem.Cause{problem.CIDROverlapsOther}},
		"the default Service network":                                  {cidr: "172.31.5.0/24", causes: []problem.Cause{problem.CIDROverlapsOther}},
		"the default join subnet":                                      {cidr: "100.66.5.0/24", causes: []problem.Cause{problem.CIDROverlapsOther}},
		"the default one, which was moved":                             {cidr: "100.66.5.0/24", join: "100.70.0.0/16"},
		"a join subnet by v4InternalSubnet":                            {cidr: "192.168.7.0/24", join: "192.168.0.0/16", causes: []problem.Cause{problem.CIDROverlapsOther}},
		"internalJoinSubnet alone, which the network operator refuses": {cidr: "192.168.7.0/24", ipv4: "100.70.0.0/16", causes: []problem.Cause{problem.JoinSubnetsDiffer}},
		"both": {cidr: "192.168.7.0/24", ipv4: "100.70.0.0/16", join: "100.70.0.0/16"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.Networking.ClusterNetwork, o.HostedCluster.Spec.Networking.ServiceNetwork = nil, nil
			o.JoinSubnet = c.join
			if c.ipv4 != "" {
				o.HostedCluster.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{ClusterNetworkOperator: &hyperv1.ClusterNetworkOperatorSpec{
					OVNKubernetesConfig: &hyperv1.OVNKubernetesConfig{IPv4: &hyperv1.OVNIPv4Config{InternalJoinSubnet: c.ipv4}}}}
			}
			settle(&o, "cidr", c.cidr)
			_, ps := plan(o)
			var causes []problem.Cause
			for _, p := range ps {
				if p.Cause == problem.CIDROverlapsOther || p.Cause == problem.JoinSubnetsDiffer {
					causes = append(causes, p.Cause)
				}
			}
			g.Expect(causes).To(Equal(c.causes))
		})
	}
}

// TestVMsOnUnnamedNetworks: a VM that boots from a network which no NodePool names is a Warning that names both.
func TestVMsOnUnnamedNetworks(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	vm := func(name, nad string) lenient.VirtualMachineInstance {
		return lenient.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name},
			Spec: lenient.VMSpec{Networks: []lenient.VMNetwork{{Name: "a", Multus: &lenient.VMMultus{NetworkName: nad}}}}}
	}
	o.VMs = append(o.VMs, vm("blue-1", "default/vlan200"), vm("blue-2", "clusters/vlan100"))
	_, ps := plan(o)
	g.Expect(ps).To(ContainElement(And(HaveField("Cause", problem.VMNetworkUnserved), HaveField("Args", And(HaveKeyWithValue("nads", problem.Values{"default/vlan200"}), HaveKeyWithValue("vms", problem.Values{"blue-1"}))))))
	o.VMs = o.VMs[:len(o.VMs)-2]
	_, ps = plan(o)
	g.Expect(ps.Has(problem.NetworkMissing)).To(BeFalse())
}

// TestNADWithADot: KubeVirt refuses the interface name that HyperShift derives from it (pkg/network/admitter/netiface.go), so no VM is created.
func TestNADWithADot(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.NetworkAttachmentDefinitions[0].Name = "vlan.100"
	o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = o.NetworkAttachmentDefinitions[0].Namespace + "/vlan.100"
	_, ps := plan(o)
	g.Expect(ps).To(ContainElement(And(HaveField("Cause", problem.NADNameHasDot), HaveField("Severity", problem.SeverityError))))
}

// TestVMsWithOneMAC: two VMs with one MAC get the same address. The case of letters does not matter, and VMs on another network do not
// either.
func TestVMsWithOneMAC(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	vm := func(name, nad, mac string) lenient.VirtualMachineInstance {
		return lenient.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name},
			Spec:   lenient.VMSpec{Networks: []lenient.VMNetwork{{Name: "a", Multus: &lenient.VMMultus{NetworkName: nad}}}},
			Status: lenient.VMStatus{Interfaces: []lenient.VMInterface{{Name: "a", MAC: mac}}}}
	}
	o.VMs = []lenient.VirtualMachineInstance{vm("two", "clusters/vlan100", "02:AA:00:00:00:01"), vm("one", "clusters/vlan100", "02:aa:00:00:00:01"), vm("other", "clusters/storage", "02:aa:00:00:00:01")}
	_, ps := plan(o)
	g.Expect(ps).To(ContainElement(And(HaveField("Cause", problem.MACShared), HaveField("Args", HaveKeyWithValue("vms", problem.Values{"one", "two"})))))
}

// TestFinishedVMs: KubeVirt keeps the object of a VM that failed, with its last address. The VM has no address, and is on no network.
func TestFinishedVMs(t *testing.T) {
	g := NewWithT(t)
	for phase, counts := range map[string]bool{"Running": true, "Failed": false, "Succeeded": false} {
		o := served(t)
		o.VMs = nil
		o.AddVMs([]lenient.VirtualMachineInstance{{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "old"},
			Spec:   lenient.VMSpec{Networks: []lenient.VMNetwork{{Name: "a", Multus: &lenient.VMMultus{NetworkName: "clusters/vlan100"}}}},
			Status: lenient.VMStatus{Phase: phase, Interfaces: []lenient.VMInterface{{Name: "a", MAC: "02:aa:00:00:00:01", IP: "192.168.100.3"}}}}})
		_, ps := plan(o)
		in, _ := translated(o)
		g.Expect(ps.Blocking()).To(Equal(counts), phase)
		g.Expect(len(in.InUse) > 0).To(Equal(counts), phase)
	}
}

// TestPublishedNameOfTheIngress: a name that HyperShift publishes leads to HyperShift's endpoint. The ingress keeps its other names.
func TestPublishedNameOfTheIngress(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	const oauth = "oauth-clusters-blue.apps.mgmt.example.com"
	o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &configv1.IngressSpec{ComponentRoutes: []configv1.ComponentRouteSpec{{Hostname: oauth}, {Hostname: "console.corp.example"}}}}
	settle(&o, network.KeyAppsAddress, "192.168.100.6")
	p, _ := plan(o)
	g.Expect(resolves(p, oauth)).To(Equal(p.Networks[0].ServiceVIP))
	g.Expect(resolves(p, "console.corp.example").String()).To(Equal("192.168.100.6"))
}

// TestPodsWithIPv6: OVN-Kubernetes needs IPv6 on nodes if pods or Services have it, and only a router on the network can advertise it.
func TestPodsWithIPv6(t *testing.T) {
	pods := func(o *hcp.Objects) {
		o.HostedCluster.Spec.Networking.ClusterNetwork = append(o.HostedCluster.Spec.Networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: *ipnet.MustParseCIDR("fd01::/48")})
	}
	reports := func(address string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			pods(o)
			o.VMs[0].Status.Interfaces[0].IPs = append(o.VMs[0].Status.Interfaces[0].IPs, address)
		}
	}
	for name, c := range map[string]struct {
		given func(*hcp.Objects)
		want  problem.Cause
	}{
		"pods":                      {pods, problem.RouterMustAdvertiseIPv6},
		"a VM has a link-local one": {reports("fe80::1"), problem.RouterMustAdvertiseIPv6},
		"a VM has one of a router":  {reports("fd00:100::7"), problem.IPv6Networks},
		"another network plugin":    {func(o *hcp.Objects) { pods(o); o.HostedCluster.Spec.Networking.NetworkType = hyperv1.Calico }, problem.IPv6Networks},
		"the network of machines": {func(o *hcp.Objects) {
			o.HostedCluster.Spec.Networking.MachineNetwork = append(o.HostedCluster.Spec.Networking.MachineNetwork, hyperv1.MachineNetworkEntry{CIDR: *ipnet.MustParseCIDR("fd00:100::/64")})
		}, problem.IPv6Networks},
		"VMs boot from the pod network": {func(o *hcp.Objects) { pods(o); o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = new(true) }, problem.IPv6Networks},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			c.given(&o)
			_, ps := plan(o)
			var found []problem.Cause
			for _, p := range ps {
				if p.Cause == problem.RouterMustAdvertiseIPv6 || p.Cause == problem.IPv6Networks {
					found = append(found, p.Cause)
				}
			}
			g.Expect(found).To(ConsistOf(c.want))
		})
	}
}

// TestNADInUse: a NAD that would exclude new VMs is only a Warning while VMs are on the network, so that the plan still follows endpoints
// that move.
func TestNADInUse(t *testing.T) {
	for name, config := range map[string]string{
		"an ignored VLAN": `{"cniVersion":"0.3.1","type":"bridge","bridge":"br1","vlanId":100}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.NetworkAttachmentDefinitions[0].Spec.Config = config
			o.VMs = nil
			_, ps := plan(o)
			g.Expect(ps).To(ContainElement(And(HaveField("Cause", problem.NADVLANMisspelled), HaveField("Severity", problem.SeverityError))))
			o.VMs = []lenient.VirtualMachineInstance{{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "one"},
				Spec:   lenient.VMSpec{Networks: []lenient.VMNetwork{{Name: "a", Multus: &lenient.VMMultus{NetworkName: "clusters/vlan100"}}}},
				Status: lenient.VMStatus{Interfaces: []lenient.VMInterface{{Name: "a", MAC: "02:00:00:00:00:01"}}}}}
			p, ps := plan(o)
			g.Expect(ps).To(ContainElement(And(HaveField("Cause", problem.NADVLANMisspelled), HaveField("Severity", problem.SeverityWarning))))
			g.Expect(p.Networks).To(HaveLen(1))
		})
	}
}
