package hcp_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// The repositories of OpenShift's releases, and of the images that these name.
const ofReleases, ofImages = "quay.io/openshift-release-dev/ocp-release", "quay.io/openshift-release-dev/ocp-v4.0-art-dev"

// sources returns a change: "source=mirror" for each source.
func sources(all ...string) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Spec.ImageContentSources = nil
		for _, x := range all {
			source, mirror, _ := strings.Cut(x, "=")
			s := hyperv1.ImageContentSource{Source: source}
			if mirror != "" {
				s.Mirrors = []string{mirror}
			}
			o.HostedCluster.Spec.ImageContentSources = append(o.HostedCluster.Spec.ImageContentSources, s)
		}
	}
}

// twoMirrors returns a change: the images of OpenShift have two mirrors.
func twoMirrors(mirrors ...string) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: ofImages, Mirrors: mirrors}}
	}
}

// controlPlaneRelease returns a change: the control plane runs another release than nodes.
func controlPlaneRelease(image string) change {
	return func(o *hcp.Objects) { o.HostedCluster.Spec.ControlPlaneRelease = &hyperv1.Release{Image: image} }
}

// TestMirroredReleases: a release on a mirror names the same images as on quay.io. A Warning reports if no source mirrors them, and nodes do not reach quay.io. It
// is a hint if the user allows hosts, or if nodes may have other ways.
func TestMirroredReleases(t *testing.T) {
	const host = "registry.example.com"
	of, vlan := release(host+"/ocp/release:4.20"), annotated(network.KeyRecords, host+"=192.168.100.9")
	none, allowed := annotated(network.KeyAllowedHosts, "none"), annotated(network.KeyAllowedHosts, "auto,registry.redhat.io")
	for name, c := range map[string]struct {
		given []change
		want  string
	}{
		"on the network, and no source":               {[]change{of, vlan, none, sources()}, host},
		"on the network, and a source of releases":    {[]change{of, vlan, none, sources(ofReleases + "=" + host + "/r")}, host},
		"on the network, and both sources":            {[]change{of, vlan, none, sources(ofReleases+"="+host+"/r", ofImages+"="+host+"/i")}, ""},
		"outside, and no source":                      {[]change{of, sources()}, host},
		"outside, and a source of releases":           {[]change{of, sources(ofReleases + "=" + host + "/r")}, host},
		"outside, and another source":                 {[]change{of, sources("registry.redhat.io/redhat=" + host + "/redhat")}, host},
		"outside, and another host is allowed":        {[]change{of, allowed, sources()}, "Info " + host},
		"outside, and quay.io is allowed":             {[]change{of, annotated(network.KeyAllowedHosts, "auto,quay.io"), sources()}, ""},
		"outside, and quay.io is not permitted":       {[]change{of, annotated(network.KeyAllowedHosts, "auto,quay.io"), permitting(host), sources()}, "Info " + host},
		"outside, and a record for quay.io":           {[]change{of, annotated(network.KeyRecords, "quay.io=192.168.100.9"), sources()}, ""},
		"a source without a mirror":                   {[]change{of, sources(ofImages)}, host},
		"a source for the namespace":                  {[]change{of, sources("quay.io/openshift-release-dev=" + host + "/m")}, ""},
		"a source for the registry":                   {[]change{of, sources("quay.io=" + host)}, ""},
		"a longer source without a mirror":            {[]change{of, sources("quay.io="+host, ofImages)}, ""},
		"a source of OKD":                             {[]change{of, sources("quay.io/okd/scos-content=" + host + "/okd")}, ""},
		"the original":                                {[]change{release(ofReleases + ":4.20"), sources()}, ""},
		"a registry that nodes do not reach":          {[]change{release("10.9.8.7:5000/ocp/release:4.20"), sources()}, ""},
		"a proxy, which reaches quay.io":              {[]change{of, proxied(controlPlane), sources()}, ""},
		"a proxy, and noProxy has quay.io":            {[]change{release("192.168.100.9:5000/r:4.20"), proxied(controlPlane + ",quay.io"), sources()}, "Info 192.168.100.9:5000"},
		"settings of nodes, such as mirrors":          {[]change{of, sources(), func(o *hcp.Objects) { o.NodePools[0].Spec.Config = []corev1.LocalObjectReference{{Name: "mirrors"}} }}, "Info " + host},
		"a gateway":                                   {[]change{of, annotated("gateway", "192.168.100.1"), sources()}, ""},
		"a NodePool's release, but not the cluster's": {[]change{sources(), none, vlan, func(o *hcp.Objects) { o.NodePools[0].Spec.Release.Image = host + "/ocp/release:4.20" }}, host},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := plan(reaching(t, c.given...))
			ps = causesOf(ps, problem.ReleaseMayNameOthers)
			if c.want == "" {
				NewWithT(t).Expect(ps).To(BeEmpty())
				return
			}
			at, hint := strings.CutPrefix(c.want, "Info ")
			severity := map[bool]problem.Severity{true: problem.SeverityInfo, false: problem.SeverityWarning}[hint]
			NewWithT(t).Expect(ps).To(HaveExactElements(And(HaveField("Severity", severity), HaveField("Args", HaveKeyWithValue("hosts", problem.Values{at})))))
		})
	}
}

// TestImagesOnMirrors: nodes do not need the registry of a release if a source mirrors all its images to a registry that they reach. They never pull the release
// image itself. Mirrors are for digests only.
func TestImagesOnMirrors(t *testing.T) {
	const host, quay = "registry.example.com", images + "cdn.quay.io, cdn01.quay.io, cdn02.quay.io, cdn03.quay.io, cdn04.quay.io, cdn05.quay.io, cdn06.quay.io, quay.io"
	vlan, none := annotated(network.KeyRecords, host+"=192.168.100.9"), annotated(network.KeyAllowedHosts, "none")
	both := sources(ofReleases+"="+host+"/r", ofImages+"="+host+"/i")
	agent := func(image string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Annotations[hyperv1.KonnectivityAgentImageAnnotation] = image
		}
	}
	catalogs := func(o *hcp.Objects) { o.HostedCluster.Spec.OLMCatalogPlacement = hyperv1.GuestOLMCatalogPlacement }
	const digest = "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	report(t, map[string]reachCase{
		"both are mirrored":                           {given: []change{vlan, none, both}},
		"only the images are mirrored":                {given: []change{vlan, none, sources(ofImages + "=" + host + "/i")}},
		"the release has a digest":                    {given: []change{vlan, none, both, func(o *hcp.Objects) { o.HostedCluster.Spec.Release.Image = ofReleases + digest }}},
		"only releases are mirrored":                  {[]change{vlan, none, sources(ofReleases + "=" + host + "/r")}, []string{quay}},
		"the mirror is not reached":                   {[]change{none, both}, []string{quay + ", " + host, images + "quay.io, " + host}},
		"one mirror of two is not reached":            {given: []change{vlan, none, twoMirrors("gone.corp.example/i", host+"/i")}},
		"one of two is inside the management cluster": {given: []change{vlan, none, twoMirrors("registry.ci.svc:5000/i", host+"/i")}},
		"one of two is at an address elsewhere":       {given: []change{vlan, none, twoMirrors("10.5.5.5:5000/i", host+"/i")}},
		"none of two is reached":                      {[]change{twoMirrors("registry.ci.svc:5000/i", "10.5.5.5:5000/i")}, []string{images + "10.5.5.5:5000", images + "registry.ci.svc:5000"}},
		"none of two, and the source is allowed":      {given: []change{twoMirrors("registry.ci.svc:5000/i", "10.5.5.5:5000/i"), annotated(network.KeyAllowedHosts, "auto,quay.io")}},
		"the longer source has another mirror":        {[]change{vlan, none, sources("quay.io="+host, ofImages+"=a.example.com/i")}, []string{images + "a.example.com, " + strings.TrimPrefix(quay, images)}},
		"a mirror at an address of the network":       {given: []change{none, sources(ofImages + "=192.168.100.9:5000/i")}},
		"quay.io is not permitted":                    {[]change{permitting(host), both}, []string{"Info ImagesUnreachable " + host}},
		"edges serve no connections":                  {given: []change{annotated("services", "dhcp,dns,ntp"), vlan, both}},
		"another image of quay.io":                    {[]change{vlan, none, both, agent("quay.io/team/agent" + digest)}, []string{quay}},
		"another image of quay.io, mirrored":          {given: []change{vlan, none, sources("quay.io/team="+host+"/t", ofImages+"="+host+"/i"), agent("quay.io/team/agent" + digest)}},
		"another image of quay.io, with a tag":        {[]change{vlan, none, sources("quay.io/team="+host+"/t", ofImages+"="+host+"/i"), agent("quay.io/team/agent:1")}, []string{quay}},
		"another release of quay.io, unknown":         {[]change{vlan, none, both, func(o *hcp.Objects) { o.HostedCluster.Spec.Release.Image = "quay.io/team/release:4.20" }}, []string{quay}},
		"quay.io is a mirror, too":                    {[]change{vlan, none, sources(ofImages+"="+host+"/i", "registry.redhat.io/ubi9=quay.io/team/ubi9")}, []string{quay}},
		"OKD, mirrored": {given: []change{vlan, none, sources("quay.io/okd/scos-content=" + host + "/i"), func(o *hcp.Objects) {
			o.HostedCluster.Spec.Release.Image, o.NodePools[0].Spec.Release.Image = "quay.io/okd/scos-release:4.20", "quay.io/okd/scos-release:4.20"
		}}},
		"OKD on Fedora, mirrored": {given: []change{vlan, none, sources("quay.io/openshift/okd-content=" + host + "/i"), func(o *hcp.Objects) {
			o.HostedCluster.Spec.Release.Image, o.NodePools[0].Spec.Release.Image = "quay.io/openshift/okd:4.15", "quay.io/openshift/okd:4.15"
		}}},
		"OKD, and only OpenShift is mirrored":   {[]change{vlan, none, both, func(o *hcp.Objects) { o.HostedCluster.Spec.Release.Image = "quay.io/okd/scos-release:4.20" }}, []string{quay}},
		"a release of the control plane":        {given: []change{vlan, none, both, controlPlaneRelease(ofReleases + ":4.21")}},
		"the same with a digest":                {given: []change{vlan, none, both, controlPlaneRelease(ofReleases + digest)}},
		"the same, and no mirror of its images": {[]change{vlan, none, sources(ofReleases + "=" + host + "/r"), controlPlaneRelease(ofReleases + ":4.21")}, []string{quay}},
		"the same on another registry":          {given: []change{vlan, none, both, controlPlaneRelease("other.example.com/release:4.21")}},
		"the same, and nodes have a proxy":      {[]change{vlan, none, both, proxied(controlPlane + ",other.example.com," + host), controlPlaneRelease("other.example.com/release:4.21")}, []string{images + "other.example.com"}},
		"allowed-hosts auto, and both mirrored": {given: []change{vlan, both}},
		"catalogs on nodes":                     {[]change{vlan, none, both, catalogs}, []string{"Warning HostUnreachable registry.redhat.io"}},
		"catalogs on nodes, from the mirror": {given: []change{vlan, none, both, catalogs, func(o *hcp.Objects) {
			o.HostedCluster.Annotations["hypershift.openshift.io/olm-catalogs-is-registry-overrides"] = "registry.redhat.io=" + host
		}}},
		"catalogs on nodes, and allowed": {given: []change{vlan, both, catalogs}},
	})
	// Edges still forward to the original.
	in, _ := translated(reaching(t, vlan, both))
	NewWithT(t).Expect(in.Endpoints).To(ContainElement(HaveField("Name", "quay.io:443")))
}

// TestRegistriesInManagementCluster: no gateway leads to a Service of the management cluster. Nodes use another mirror, if there is one.
func TestRegistriesInManagementCluster(t *testing.T) {
	const svc, host = "registry.images.svc:5000", "mirror.corp.example"
	gateway, want := annotated(network.KeyGateway, "192.168.100.1"), []string{images + svc}
	report(t, map[string]reachCase{
		"a release":                          {[]change{gateway, release(svc + "/ocp/release:4.20"), sources()}, want},
		"a release, and its images mirrored": {given: []change{gateway, release(svc + "/ocp/release:4.20"), sources(ofImages + "=" + host + "/i")}},
		"a mirror":                           {[]change{gateway, sources(ofImages + "=" + svc + "/i")}, want},
		"a mirror below cluster.local":       {[]change{gateway, sources(ofImages + "=registry.images.svc.cluster.local/i")}, []string{images + "registry.images.svc.cluster.local"}},
		"a mirror, and hosts are allowed":    {[]change{gateway, annotated(network.KeyAllowedHosts, "auto"), sources(ofImages + "=" + svc + "/i")}, want},
		"two mirrors": {given: []change{gateway, func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: ofImages, Mirrors: []string{svc + "/i", host + "/i"}}}
		}}},
		"an image of nodes": {[]change{gateway, func(o *hcp.Objects) {
			o.HostedCluster.Annotations[hyperv1.KonnectivityAgentImageAnnotation] = svc + "/agent:1"
		}}, want},
		"a record of the user":      {given: []change{gateway, sources(ofImages + "=" + svc + "/i"), annotated(network.KeyRecords, "registry.images.svc=192.168.100.9")}},
		"another registry":          {given: []change{gateway, sources(ofImages + "=" + host + "/i")}},
		"a release, and no gateway": {[]change{release(svc + "/ocp/release:4.20"), sources()}, append(want, want...)},
	})
}

// virtual returns a change: the ingress of the management cluster has these virtual IPs.
func virtual(addresses ...any) change { return virtualOf("", addresses...) }

// virtualOf is like virtual, for a management cluster whose API server has a URL.
func virtualOf(api string, addresses ...any) change {
	return func(o *hcp.Objects) {
		kind := schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Infrastructure"}
		o.Management.Networks = management.Networks(kind, map[string]any{"status": map[string]any{"apiServerURL": api, "platformStatus": map[string]any{"baremetal": map[string]any{"apiServerInternalIPs": []any{"10.240.0.5"}, "ingressIPs": addresses}}}})
	}
}

// permitted returns a change: edges may dial addresses of prefix inside the management cluster.
func permitted(prefix string) change {
	return func(o *hcp.Objects) { o.Permissions.Destinations = []netip.Prefix{netip.MustParsePrefix(prefix)} }
}

// TestRegistryBehindManagementIngress: edges do not dial the virtual IP of the management cluster's ingress. Routes show the domain of this
// ingress, and so does the name of the API server.
func TestRegistryBehindManagementIngress(t *testing.T) {
	const host = "quay.apps.mgmt.example.com"
	known, of := virtual("10.240.0.6"), release(host+"/ocp/release:4.20")
	for name, c := range map[string]struct {
		given []change
		want  string
	}{
		"a release":                         {[]change{known, of}, host},
		"a mirror":                          {[]change{known, sources(ofImages + "=" + host + ":8443/i")}, host},
		"the address is permitted":          {[]change{known, of, permitted("10.240.0.6/32")}, ""},
		"another address is permitted":      {[]change{known, of, permitted("10.240.0.5/32")}, host},
		"an IPv6 address, too":              {[]change{virtual("10.240.0.6", "fd00::6"), of}, host},
		"no virtual IP":                     {[]change{of}, ""},
		"no virtual IP of the ingress":      {[]change{virtual(), of}, ""},
		"another domain":                    {[]change{known, release("registry.example.com/ocp/release:4.20")}, ""},
		"the domain itself":                 {[]change{known, release("apps.mgmt.example.com/ocp/release:4.20")}, ""},
		"a record of the user":              {[]change{known, of, annotated(network.KeyRecords, host+"=192.168.100.9")}, ""},
		"a proxy of the management cluster": {[]change{known, of, func(o *hcp.Objects) { o.Proxy.HTTPSProxy = "http://proxy.example.com:3128" }}, ""},
		"a gateway":                         {[]change{known, of, annotated("gateway", "192.168.100.1")}, ""},
		"Routes with hosts of the user":     {[]change{known, of, local}, ""},
		"its API server, and such Routes":   {[]change{virtualOf("https://api.mgmt.example.com:6443", "10.240.0.6"), of, local}, host},
		"another API server, and such":      {[]change{virtualOf("https://api.other.example.com:6443", "10.240.0.6"), of, local}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := plan(reaching(t, c.given...))
			ps = causesOf(ps, problem.RegistryBehindIngress)
			if c.want == "" {
				NewWithT(t).Expect(ps).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(ps).To(HaveExactElements(HaveField("Args", And(HaveKeyWithValue("hosts", problem.Values{c.want}), HaveKeyWithValue("addresses", problem.Values{"10.240.0.6"})))))
		})
	}
}

// TestMirrorsOfManagementCluster: HyperShift uses mirrors of the management cluster for control planes only. If nodes have
// none, a problem says that they pull from the origin.
func TestMirrorsOfManagementCluster(t *testing.T) {
	const cause problem.Cause = "MirrorsNotForNodes"
	object := func(group, version, kind, list, source string) change {
		return func(o *hcp.Objects) {
			o.Management.Add(schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, map[string]any{"spec": map[string]any{list: []any{map[string]any{"source": source, "mirrors": []any{"mirror.corp.example/ocp"}}}}})
		}
	}
	set := func(source string) change {
		return object("config.openshift.io", "v1", "ImageDigestMirrorSet", "imageDigestMirrors", source)
	}
	original := release(ofReleases + ":4.20")
	for name, c := range map[string]struct {
		given []change
		want  bool
	}{
		"no mirrors":                     {[]change{original, sources()}, false},
		"a set":                          {[]change{original, set(ofImages), sources()}, true},
		"a policy for the registry":      {[]change{original, object("operator.openshift.io", "v1alpha1", "ImageContentSourcePolicy", "repositoryDigestMirrors", "quay.io"), sources()}, true},
		"mirrors of releases only":       {[]change{original, set(ofReleases), sources()}, false},
		"mirrors for nodes, too":         {[]change{original, set(ofImages), sources(ofImages + "=mirror.corp.example/ocp")}, false},
		"a source without mirrors":       {[]change{original, set(ofImages), sources(ofImages)}, true},
		"a release on another registry":  {[]change{release("registry.example.com/ocp/release:4.20"), set(ofImages), sources()}, false},
		"the user allows the origin":     {[]change{original, set(ofImages), sources(), annotated(network.KeyAllowedHosts, "auto,quay.io")}, false},
		"the user has another origin":    {[]change{original, set(ofImages), sources(), annotated(network.KeyRecords, "quay.io=192.168.100.9")}, false},
		"nodes pull through a proxy":     {[]change{original, set(ofImages), sources(), proxied(controlPlane)}, false},
		"nodes pull through the gateway": {[]change{original, set(ofImages), sources(), annotated("gateway", "192.168.100.1")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := plan(reaching(t, c.given...))
			ps = causesOf(ps, cause)
			if !c.want {
				NewWithT(t).Expect(ps).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(ps).To(HaveExactElements(HaveField("Args", Equal(problem.Args{"repository": {ofImages}, "other": {"quay.io"}}))))
		})
	}
}

// TestHostsBehindManagementIngress: edges dial a host behind the ingress of the management cluster only if the administrator permits its
// virtual IP. Annotation allowed-hosts alone does not help.
func TestHostsBehindManagementIngress(t *testing.T) {
	const host = "keycloak.apps.mgmt.example.com"
	allowed, gateway := annotated(network.KeyAllowedHosts, "auto,"+host), annotated("gateway", "192.168.100.1")
	for name, c := range map[string]struct {
		given []change
		want  []problem.Cause
	}{
		"an identity provider in allowed-hosts":   {[]change{openID("https://" + host), allowed}, []problem.Cause{problem.HostInsideManagement, problem.IdentityProviderUnreachable}},
		"an issuer of OIDC in allowed-hosts":      {[]change{oidc("https://" + host), allowed}, []problem.Cause{problem.HostInsideManagement, problem.IdentityProviderUnreachable}},
		"imports from a host in allowed-hosts":    {[]change{imports(host), allowed}, []problem.Cause{problem.HostInsideManagement, problem.ImportsUnreachable}},
		"another host in allowed-hosts":           {[]change{allowed}, []problem.Cause{problem.HostInsideManagement}},
		"a host in allowed-hosts, with a gateway": {[]change{allowed, gateway}, []problem.Cause{problem.HostInsideManagement}},
		"an identity provider, with a gateway":    {[]change{openID("https://" + host), gateway}, nil},
		"a registry in allowed-hosts":             {[]change{release(host + "/ocp/release:4.20"), allowed}, []problem.Cause{problem.RegistryBehindIngress}},
		"a proxy of the management cluster":       {[]change{openID("https://" + host), allowed, func(o *hcp.Objects) { o.Proxy.HTTPSProxy = "http://proxy.example.com:3128" }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			causes := func(further ...change) (out []problem.Cause) {
				_, ps := plan(reaching(t, append(c.given, further...)...))
				for _, p := range ps {
					if slices.Contains([]problem.Cause{problem.HostInsideManagement, problem.IdentityProviderUnreachable, problem.ImportsUnreachable, problem.RegistryBehindIngress}, p.Cause) {
						out = append(out, p.Cause)
					}
				}
				return out
			}
			g.Expect(causes(virtual("10.240.0.6"))).To(ConsistOf(c.want))
			g.Expect(causes(virtual("10.240.0.6"), permitted("10.240.0.6/32"))).To(BeEmpty())
			g.Expect(causes()).To(BeEmpty(), "nothing is known of the ingress")
		})
	}
}
