package hcp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/problem"
)

// A refusedCase is a change of the hosted cluster, and the cause that names it. Empty: it is not refused.
type refusedCase struct {
	given []change
	want  problem.Cause
}

// refused checks cases. HyperShift, or an operator of the hosted cluster, refuses values that the API server takes. Each is named, and a value like it is not.
func refused(t *testing.T, cases map[string]refusedCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			for _, change := range c.given {
				change(&o)
			}
			_, problems := translated(o)
			var got []problem.Cause
			for _, p := range problems {
				if slices.Contains(refusals, p.Cause) {
					got = append(got, p.Cause)
					g.Expect(message(p)).NotTo(ContainSubstring("secret"))
				}
			}
			if c.want == "" {
				g.Expect(got).To(BeEmpty())
			} else {
				g.Expect(got).To(ConsistOf(c.want))
			}
		})
	}
}

// TestRefusedNetworks: values of networks of the hosted cluster.
func TestRefusedNetworks(t *testing.T) {
	cidrs := func(pods, of, machines string) change {
		return func(o *hcp.Objects) {
			n := &o.HostedCluster.Spec.Networking
			n.ClusterNetwork, n.ServiceNetwork, n.MachineNetwork = nil, nil, nil
			for _, c := range strings.Fields(pods) {
				n.ClusterNetwork = append(n.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: *ipnet.MustParseCIDR(c)})
			}
			for _, c := range strings.Fields(of) {
				n.ServiceNetwork = append(n.ServiceNetwork, hyperv1.ServiceNetworkEntry{CIDR: *ipnet.MustParseCIDR(c)})
			}
			for _, c := range strings.Fields(machines) {
				n.MachineNetwork = append(n.MachineNetwork, hyperv1.MachineNetworkEntry{CIDR: *ipnet.MustParseCIDR(c)})
			}
		}
	}
	both := cidrs("10.132.0.0/14 fd01::/48", "172.31.0.0/16 fd02::/112", "")
	ovn := func(v lenient.OVNIPv6) change { return func(o *hcp.Objects) { o.OVNIPv6 = v } }
	marked := func(annotation string) change {
		return func(o *hcp.Objects) { o.HostedCluster.Annotations[annotation] = "" }
	}
	hostPrefix := func(last int32) change {
		return func(o *hcp.Objects) {
			all := o.HostedCluster.Spec.Networking.ClusterNetwork
			all[len(all)-1].HostPrefix = last
		}
	}
	advertised := func(at string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: &at}
		}
	}
	refused(t, map[string]refusedCase{
		"OpenShiftSDN": {[]change{networkType(hyperv1.OpenShiftSDN)}, problem.NetworkTypeRefused},
		"OpenShiftSDN, which HyperShift does not check": {[]change{networkType(hyperv1.OpenShiftSDN), marked("hypershift.openshift.io/skip-release-image-validation")}, ""},
		"Calico":                                              {[]change{networkType(hyperv1.Calico)}, ""},
		"8 addresses for Services":                            {[]change{cidrs("", "172.31.0.0/29", "")}, problem.ServiceNetworkTooSmall},
		"16 addresses for Services":                           {[]change{cidrs("", "172.31.0.0/28", "")}, ""},
		"two IPv4 networks of Services":                       {[]change{cidrs("", "172.31.0.0/16 172.30.0.0/16", "")}, problem.ServiceFamiliesDiffer},
		"two IPv4 networks of pods":                           {[]change{cidrs("10.132.0.0/14 10.136.0.0/14", "172.31.0.0/16", "")}, ""},
		"IPv6 for pods alone":                                 {[]change{cidrs("10.132.0.0/14 fd01::/48", "172.31.0.0/16", "")}, problem.ServiceFamiliesDiffer},
		"IPv6 for Services alone":                             {[]change{cidrs("10.132.0.0/14", "172.31.0.0/16 fd02::/112", "")}, problem.ServiceFamiliesDiffer},
		"IPv6 for pods alone, with another plugin":            {[]change{cidrs("10.132.0.0/14 fd01::/48", "172.31.0.0/16", ""), networkType(hyperv1.Calico)}, ""},
		"IPv6 for pods alone, and another plugin to come":     {[]change{fresh, cidrs("10.132.0.0/14 fd01::/48", "172.31.0.0/16", ""), networkType(hyperv1.Calico)}, problem.ServiceFamiliesDiffer},
		"pods in one network that is too small":               {[]change{cidrs("10.132.0.0/14 10.200.0.0/24", "172.31.0.0/16", "")}, problem.HostPrefixRefused},
		"pods in two networks that suffice":                   {[]change{cidrs("10.132.0.0/14 10.200.0.0/24", "172.31.0.0/16", ""), hostPrefix(26)}, ""},
		"subnets of two addresses":                            {[]change{cidrs("10.132.0.0/14 10.200.0.0/16", "172.31.0.0/16", ""), hostPrefix(31)}, problem.HostPrefixRefused},
		"a small network, and another plugin to come":         {[]change{fresh, cidrs("10.132.0.0/24", "172.31.0.0/16", ""), networkType(hyperv1.Calico)}, problem.HostPrefixRefused},
		"a small network, and another plugin runs":            {[]change{cidrs("10.132.0.0/24", "172.31.0.0/16", ""), networkType(hyperv1.Calico)}, ""},
		"a small IPv6 network":                                {[]change{cidrs("10.132.0.0/14 fd01::/72", "172.31.0.0/16 fd02::/112", "")}, problem.HostPrefixRefused},
		"IPv6 subnets of two addresses":                       {[]change{cidrs("10.132.0.0/14 fd01::/112", "172.31.0.0/16 fd02::/112", ""), hostPrefix(127)}, problem.HostPrefixRefused},
		"an API address that is a name":                       {[]change{advertised("api.internal")}, problem.AdvertiseAddressUnusable},
		"an API address of the node itself":                   {[]change{advertised("127.0.0.1")}, problem.AdvertiseAddressUnusable},
		"an API address on the link":                          {[]change{advertised("169.254.7.7")}, problem.AdvertiseAddressUnusable},
		"an API address":                                      {[]change{advertised("10.77.0.1")}, ""},
		"IPv6 for both":                                       {[]change{both}, ""},
		"IPv6 for machines alone":                             {[]change{fresh, cidrs("", "", "192.168.100.0/24 fd55::/64")}, problem.MachineIPv6WithoutPods},
		"IPv6 for all":                                        {[]change{cidrs("10.132.0.0/14 fd01::/48", "172.31.0.0/16 fd02::/112", "192.168.100.0/24 fd55::/64")}, ""},
		"an IPv6 join subnet without IPv6":                    {[]change{ovn(lenient.OVNIPv6{Join: "fd98::/64"})}, problem.OVNIPv6WithoutPods},
		"an IPv6 join subnet":                                 {[]change{both, ovn(lenient.OVNIPv6{Join: "fd98::/64"})}, ""},
		"v6InternalSubnet alone":                              {[]change{both, ovn(lenient.OVNIPv6{Internal: "fd98::/64"})}, problem.IPv6JoinSubnetsDiffer},
		"v6InternalSubnet and the same join subnet":           {[]change{both, ovn(lenient.OVNIPv6{Internal: "fd98::/64", Join: "fd98::/64"})}, problem.HostedNetworksOverlap},
		"IPv6 Services in the join subnet":                    {[]change{cidrs("10.132.0.0/14 fd01::/48", "172.31.0.0/16 fd99::/112", "")}, problem.HostedNetworksOverlap},
		"IPv6 Services, and another join subnet":              {[]change{cidrs("10.132.0.0/14 fd01::/48", "172.31.0.0/16 fd99::/112", ""), ovn(lenient.OVNIPv6{Join: "fd98::/64"})}, ""},
		"a transit subnet of 256 addresses":                   {[]change{cidrs("10.132.0.0/14", "", ""), transit("100.99.0.0/24")}, problem.JoinSubnetTooSmall},
		"a transit subnet of 1024 addresses":                  {[]change{cidrs("10.132.0.0/14", "", ""), transit("100.99.0.0/22")}, ""},
		"the API's address in the second network of machines": {[]change{cidrs("10.132.0.0/14", "172.31.0.0/16", "192.168.100.0/24 172.20.0.0/24")}, ""},
	})
}

// TestRefusedControlPlanes: values of how the control plane is published, and reached.
func TestRefusedControlPlanes(t *testing.T) {
	certificate := func(names ...string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &configv1.APIServerSpec{ServingCerts: configv1.APIServerServingCerts{NamedCertificates: []configv1.APIServerNamedServingCert{{Names: names}}}}}
		}
	}
	api := func(s hyperv1.ServicePublishingStrategy) change {
		return func(o *hcp.Objects) {
			for i := range o.HostedCluster.Spec.Services {
				if m := &o.HostedCluster.Spec.Services[i]; m.Service == hyperv1.APIServer {
					m.ServicePublishingStrategy = s
				}
			}
		}
	}
	byName := api(hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: "api.blue.example.com"}})
	atPort := api(hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "10.240.0.7", Port: 30643}})
	ports := func(value string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Network: &configv1.NetworkSpec{ServiceNodePortRange: value}}
		}
	}
	marked := func(annotation string) change {
		return func(o *hcp.Objects) { o.HostedCluster.Annotations[annotation] = "" }
	}
	through := func(proxy, no string) change {
		return func(o *hcp.Objects) {
			annotate(o, "gateway", "192.168.100.1")
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: "http://proxy.example.com:3128", HTTPSProxy: proxy, NoProxy: no}}
		}
	}
	throughBoth := func(proxy, no string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: proxy, HTTPSProxy: proxy, NoProxy: no}}
		}
	}
	const proxy = "http://proxy.example.com:3128"
	authentication := func(of configv1.AuthenticationType) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &configv1.AuthenticationSpec{Type: of}}
		}
	}
	refused(t, map[string]refusedCase{
		"a certificate for a name inside":              {[]change{certificate("api.example.com", "kubernetes.default.svc")}, problem.CertificateNamesRefused},
		"a certificate for the API's names":            {[]change{byName, certificate("*.blue.example.com")}, problem.CertificateNamesRefused},
		"a certificate for other names":                {[]change{byName, certificate("*.example.com", "kubernetes.example.com", "x.api.blue.example.com")}, ""},
		"a certificate that HyperShift does not check": {[]change{certificate("localhost"), marked("hypershift.openshift.io/skip-kas-conflict-san-validation")}, ""},
		"a Route with capital letters":                 {[]change{fresh, byRoute("OAuth.blue.example.com")}, problem.RouteHostCapital},
		"a Route with a digit and a dash":              {[]change{fresh, byRoute("oauth-2.blue.example.com")}, ""},
		"a node port outside of the cluster's range":   {[]change{fresh, atPort, ports("31000-32767")}, problem.NodePortNotInRange},
		"a node port in the cluster's range":           {[]change{atPort, ports("30643-30643")}, ""},
		"a range of one port":                          {[]change{fresh, ports("30000")}, problem.NodePortRangeInvalid},
		"a range from its end":                         {[]change{fresh, ports("32767-30000")}, problem.NodePortRangeInvalid},
		"a proxy with a password":                      {[]change{byName, through("http://us_er:secret@proxy.example.com:3128", "")}, problem.HostedProxyUnusable},
		"a proxy with TLS":                             {[]change{byName, through("https://proxy.example.com:3129", "")}, problem.HostedProxyUnusable},
		"a proxy with TLS, not for the API":            {[]change{byName, through("https://proxy.example.com:3129", "10.240.0.0/16,kubernetes")}, ""},
		"a proxy with a slash":                         {[]change{byName, through("http://proxy.example.com:3128/", "")}, problem.HostedProxyUnusable},
		"a plain proxy":                                {[]change{byName, through("http://proxy.example.com:3128", "")}, ""},
		"a proxy with TLS for HTTP":                    {[]change{fresh, throughBoth("https://us_er:secret@proxy.example.com:3129", "")}, problem.HTTPProxyRefused},
		"a proxy except for a port, and VMs boot":      {[]change{throughBoth(proxy, "api.example.com:6443")}, problem.NoProxyRefused},
		"a proxy except for a port, and a Ready node":  {[]change{running, throughBoth(proxy, "api.example.com:6443")}, ""},
		"a proxy except for a port":                    {[]change{fresh, throughBoth(proxy, ".example.com,api.example.com:6443")}, problem.NoProxyRefused},
		"a proxy except for a wildcard":                {[]change{fresh, throughBoth(proxy, "*.example.com")}, problem.NoProxyRefused},
		"a proxy except for capital letters":           {[]change{fresh, throughBoth(proxy, "Example.com")}, problem.NoProxyRefused},
		"a proxy except for an address of IPv6":        {[]change{fresh, throughBoth(proxy, "fd00::1")}, ""},
		"a proxy except for a name with a dot behind":  {[]change{fresh, throughBoth(proxy, "corp.example.")}, ""},
		"a proxy except for a dot":                     {[]change{fresh, throughBoth(proxy, "..")}, problem.NoProxyRefused},
		"a proxy except for an empty entry":            {[]change{fresh, throughBoth(proxy, "example.com,")}, problem.NoProxyRefused},
		"a proxy except for domains and networks":      {[]change{fresh, throughBoth(proxy, ".example.com, api, 10.0.0.1,10.0.0.0/8,fd00::/64")}, ""},
		"a proxy except for all":                       {[]change{fresh, throughBoth(proxy, "*")}, ""},
		"a proxy without exceptions":                   {[]change{fresh, throughBoth(proxy, "")}, ""},
		"authentication without a type":                {[]change{fresh, authentication("")}, problem.AuthenticationWithoutType},
		"authentication with a type":                   {[]change{authentication(configv1.AuthenticationTypeIntegratedOAuth)}, ""},
		"no certificates of a control plane that runs": {[]change{marked("hypershift.openshift.io/disable-pki-reconciliation")}, ""},
		"no certificates":                              {[]change{marked("hypershift.openshift.io/disable-pki-reconciliation"), fresh}, problem.CertificatesDisabled},
		"authentication without a type, and nodes run": {[]change{authentication("")}, ""},
	})
}

// TestRefusedImages: values of places of images.
func TestRefusedImages(t *testing.T) {
	mirror := func(source, mirror string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: source, Mirrors: []string{mirror}}}
		}
	}
	sources := func(s configv1.RegistrySources) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Image: &configv1.ImageSpec{RegistrySources: s}}
		}
	}
	insecure := func(entry string) change {
		return sources(configv1.RegistrySources{InsecureRegistries: []string{entry}})
	}
	searched := func(entries ...string) change {
		return sources(configv1.RegistrySources{ContainerRuntimeSearchRegistries: entries})
	}
	const quay = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
	refused(t, map[string]refusedCase{
		"a mirror":                         {[]change{mirror(quay, "mirror.example.com:5000/ocp/release_x--y")}, ""},
		"a mirror at an address":           {[]change{mirror("*.example.com", "192.168.100.7:5000")}, ""},
		"a mirror with a scheme":           {[]change{mirror(quay, "https://mirror.example.com/ocp")}, problem.RegistryUnreadable},
		"a mirror with a slash at the end": {[]change{mirror(quay, "mirror.example.com/")}, problem.RegistryUnreadable},
		"a mirror with capital letters":    {[]change{mirror(quay, "mirror.example.com/OCP")}, problem.RegistryUnreadable},
		"a mirror with a tag":              {[]change{mirror(quay, "mirror.example.com/ocp:4.20")}, problem.RegistryUnreadable},
		"a mirror with a wildcard":         {[]change{mirror(quay, "*.example.com")}, problem.RegistryUnreadable},
		"a source with a scheme":           {[]change{mirror("https://quay.io", "mirror.example.com")}, problem.RegistryUnreadable},
		"a registry":                       {[]change{insecure("registry.example.com:5000")}, ""},
		"registries of a domain":           {[]change{insecure("*.example.com")}, ""},
		"all registries":                   {[]change{insecure("*")}, problem.RegistryUnreadable},
		"a registry with a scheme":         {[]change{insecure("https://registry.example.com")}, problem.RegistryUnreadable},
		"registries to search":             {[]change{searched("quay.io", "Registry.example.com:5000", "192.168.100.7", "docker.io/")}, ""},
		"a scheme to search":               {[]change{searched("quay.io", "https://registry.example.com")}, problem.RegistryUnreadable},
		"a repository to search":           {[]change{searched("registry.example.com/team")}, problem.RegistryUnreadable},
		"a wildcard to search":             {[]change{searched("*.example.com")}, problem.RegistryUnreadable},
		"a registry to search, empty":      {[]change{searched("quay.io", "")}, problem.RegistryUnreadable},
	})
}

// TestRefusedNodePools: values of names, and NodePools.
func TestRefusedNodePools(t *testing.T) {
	volume := func(v hyperv1.KubevirtRootVolume) change {
		return func(o *hcp.Objects) { o.NodePools[0].Spec.Platform.Kubevirt.RootVolume = &v }
	}
	named := func(pool string) change { return func(o *hcp.Objects) { o.NodePools[0].Name = pool } }
	identified := func(id string) change { return func(o *hcp.Objects) { o.HostedCluster.Spec.InfraID = id } }
	cluster := func(name string) change { return func(o *hcp.Objects) { o.HostedCluster.Name = name } }
	tainted := func(number int, effect corev1.TaintEffect) change {
		return func(o *hcp.Objects) { o.NodePools[number].Spec.Taints = []hyperv1.Taint{{Key: "a", Effect: effect}} }
	}
	labels := func(key, value string) change {
		return func(o *hcp.Objects) {
			o.NodePools[0].Spec.NodeLabels = map[string]string{"topology.kubernetes.io/zone": "a", key: value}
		}
	}
	inPlace := func(o *hcp.Objects) { o.NodePools[0].Spec.Management.UpgradeType = hyperv1.UpgradeTypeInPlace }
	second := func(o *hcp.Objects) { secondPool(o, false) }
	empty := func(o *hcp.Objects) { o.NodePools[1].Spec.Replicas = new(int32) }
	deleted := func(o *hcp.Objects) { o.NodePools[1].DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)} }
	lonely := func(o *hcp.Objects) {
		o.NodePools[1].Spec.Platform.Kubevirt.AdditionalNetworks = nil
	}
	pooled := func(version string) change {
		return func(o *hcp.Objects) { o.NodePools[0].Spec.Release.Image = "quay.io/ocp/release:" + version }
	}
	refused(t, map[string]refusedCase{
		"a NodePool with a long name":             {[]change{named(strings.Repeat("a", 64))}, problem.NodePoolNameTooLong},
		"a NodePool with a name of 63 characters": {[]change{named(strings.Repeat("a", 63))}, ""},
		"a NodePool without a volume":             {[]change{volume(hyperv1.KubevirtRootVolume{KubevirtVolume: hyperv1.KubevirtVolume{Type: hyperv1.KubevirtVolumeTypePersistent}})}, problem.NodePoolWithoutVolume},
		"a NodePool without any network":          {[]change{second, lonely}, problem.NodePoolWithoutNetwork},
		"a NodePool with the pod network alone":   {[]change{func(o *hcp.Objects) { secondPool(o, true) }}, ""},
		"a NodePool with a newer release":         {[]change{ofRelease("4.21.8"), pooled("4.22.1")}, problem.NodePoolReleaseNewer},
		"a NodePool with a newer patch":           {[]change{ofRelease("4.21.8"), pooled("4.21.9")}, ""},
		"a NodePool with an older release":        {[]change{ofRelease("4.21.8"), pooled("4.20.1")}, ""},
		"a NodePool with release 5.1":             {[]change{ofRelease("4.23.1"), pooled("5.1.0")}, problem.NodePoolReleaseNewer},
		"a NodePool with release 5.0":             {[]change{ofRelease("4.23.1"), pooled("5.0.1")}, ""},
		"a NodePool with an unknown release":      {[]change{ofRelease("4.21.8"), pooled("latest")}, ""},
		"a newer release, which is not validated": {[]change{ofRelease("4.21.8"), pooled("4.22.1"), func(o *hcp.Objects) { o.HostedCluster.Annotations[hyperv1.SkipReleaseImageValidation] = "" }}, ""},
		"a NodePool with a dot in its name":       {[]change{fresh, named("workers-4.20")}, problem.NodePoolNameHasDot},
		"a dot, and nodes run":                    {[]change{named("workers-4.20")}, ""},
		"nodes with a taint, to come":             {[]change{fresh, tainted(0, corev1.TaintEffectNoSchedule)}, problem.AllNodesTainted},
		"a Ready node with a taint":               {[]change{running, tainted(0, corev1.TaintEffectNoSchedule)}, ""},
		"nodes with a preference, to come":        {[]change{fresh, tainted(0, corev1.TaintEffectPreferNoSchedule)}, ""},
		"one NodePool of two with a taint":        {[]change{fresh, second, tainted(0, corev1.TaintEffectNoSchedule)}, ""},
		"two NodePools with taints":               {[]change{fresh, second, tainted(0, corev1.TaintEffectNoSchedule), tainted(1, corev1.TaintEffectNoExecute)}, problem.AllNodesTainted},
		"a taint, and VMs boot":                   {[]change{tainted(0, corev1.TaintEffectNoSchedule)}, problem.AllNodesTainted},
		"a taint, and a NodePool being deleted":   {[]change{fresh, second, tainted(0, corev1.TaintEffectNoExecute), deleted}, problem.AllNodesTainted},
		"a taint, and a NodePool without nodes":   {[]change{fresh, second, tainted(0, corev1.TaintEffectNoExecute), empty}, problem.AllNodesTainted},
		"a label of nodes with a long key":        {[]change{inPlace, labels(strings.Repeat("a", 32), "true")}, problem.NodePoolLabelInvalid},
		"a label of nodes with 31 characters":     {[]change{inPlace, labels(strings.Repeat("a", 31), "")}, ""},
		"a label of nodes with a domain":          {[]change{inPlace, labels("example.com/"+strings.Repeat("a", 63), "true")}, ""},
		"a label of nodes with a space":           {[]change{inPlace, labels("team", "a & b")}, problem.NodePoolLabelInvalid},
		"a label of nodes without VMs":            {[]change{fresh, inPlace, labels("team", "a & b")}, problem.NodePoolLabelInvalid},
		"a label of replaced nodes":               {[]change{labels(strings.Repeat("a", 32), "true")}, problem.NodePoolLabelStopsUpdates},
		"a label of replaced nodes without VMs":   {[]change{fresh, labels("team", "a & b")}, problem.NodePoolLabelStopsUpdates},
		"labels of replaced nodes":                {[]change{labels("team", "a-b")}, ""},
		"an infraID of 64 characters":             {[]change{fresh, identified(strings.Repeat("a", 64))}, problem.InfraIDTooLong},
		"an infraID of 63 characters":             {[]change{fresh, identified(strings.Repeat("a", 63))}, ""},
		"a HostedCluster with a long name":        {[]change{cluster(strings.Repeat("a", 55))}, problem.ControlPlaneNameTooLong},
	})
}

// byRoute is a change: a Route publishes OAuth at this host.
func byRoute(host string) change {
	return func(o *hcp.Objects) {
		for i, m := range o.HostedCluster.Spec.Services {
			if m.Service == hyperv1.OAuthServer {
				o.HostedCluster.Spec.Services[i].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: host}}
			}
		}
	}
}

// fresh is a change: HyperShift has created nothing yet.
func fresh(o *hcp.Objects) {
	o.VMs, o.NodePools[0].Status, o.HostedCluster.Status = nil, hyperv1.NodePoolStatus{}, hyperv1.HostedClusterStatus{}
}

// running is a change: a node is Ready.
func running(o *hcp.Objects) { o.NodePools[0].Status.Replicas = 1 }

// refusals are the causes of these tests.
var refusals = []problem.Cause{
	problem.NetworkTypeRefused, problem.ServiceNetworkTooSmall, problem.ServiceFamiliesDiffer, problem.MachineIPv6WithoutPods, problem.OVNIPv6WithoutPods,
	problem.IPv6JoinSubnetsDiffer, problem.HostedNetworksOverlap, problem.JoinSubnetTooSmall, problem.CertificateNamesRefused, problem.NodePortNotInRange,
	problem.NodePortRangeInvalid, problem.HostedProxyUnusable, problem.NodePoolNameTooLong, problem.ControlPlaneNameTooLong,
	problem.RegistryUnreadable, problem.NodePoolNameHasDot, problem.NodePoolWithoutVolume, problem.AuthenticationWithoutType, problem.CertificatesDisabled,
	problem.HostPrefixRefused, problem.AdvertiseAddressUnusable, problem.HTTPProxyRefused, problem.NoProxyRefused, problem.AllNodesTainted,
	problem.NodePoolLabelInvalid, problem.NodePoolLabelStopsUpdates, problem.InfraIDTooLong, problem.RouteHostCapital, problem.NodePoolWithoutNetwork, problem.NodePoolReleaseNewer,
}

// transit is a change: OVN-Kubernetes has this transit subnet.
func transit(cidr string) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{ClusterNetworkOperator: &hyperv1.ClusterNetworkOperatorSpec{
			OVNKubernetesConfig: &hyperv1.OVNKubernetesConfig{IPv4: &hyperv1.OVNIPv4Config{InternalTransitSwitchSubnet: cidr}}}}
	}
}
