package hcp_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// configuredBy returns a change: the NodePool configures its nodes with ConfigMaps.
func configuredBy(configMaps ...string) change {
	return func(o *hcp.Objects) {
		for _, name := range configMaps {
			o.NodePools[0].Spec.Config = append(o.NodePools[0].Spec.Config, corev1.LocalObjectReference{Name: name})
		}
	}
}

// TestNodePoolConfig: a ConfigMap of spec.config can name mirrors, an image of the operating system and time servers. The operator has no right to read it, so
// a hint names it wherever nodes reach only what is known.
func TestNodePoolConfig(t *testing.T) {
	for name, c := range map[string]struct {
		given []change
		want  string
	}{
		"none":               {},
		"two":                {[]change{configuredBy("mirrors", "chrony")}, "chrony, mirrors"},
		"with a gateway":     {[]change{configuredBy("mirrors"), annotated("gateway", "192.168.100.1")}, ""},
		"with further hosts": {[]change{configuredBy("chrony"), annotated(network.KeyAllowedHosts, "auto,mirror.example.com")}, "chrony"},
		"with a proxy":       {[]change{configuredBy("chrony"), proxied(controlPlane)}, "chrony"},
		"of two NodePools":   {[]change{configuredBy("chrony"), func(o *hcp.Objects) { o.NodePools = append(o.NodePools, another(*o, "green", false)) }}, "chrony"},
		"of the pod network": {[]change{func(o *hcp.Objects) { secondPool(o, true) }, func(o *hcp.Objects) { o.NodePools[1].Spec.Config = []corev1.LocalObjectReference{{Name: "chrony"}} }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, ps := plan(asCached(t, reaching(t, c.given...)))
			ps = causesOf(ps, problem.NodePoolConfigUnread)
			if c.want == "" {
				g.Expect(ps).To(BeEmpty())
				return
			}
			g.Expect(ps).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("configMaps", WithTransform(problem.Values.String, Equal(c.want))))))
		})
	}
}

// TestRefusedCatalogs: nodes become Ready without catalogs of OLM.
func TestRefusedCatalogs(t *testing.T) {
	for name, c := range map[string]struct {
		sources configv1.RegistrySources
		given   change
		want    int
	}{
		"their registry is not allowed":       {configv1.RegistrySources{AllowedRegistries: []string{"quay.io"}}, guestCatalogs, 1},
		"their registry is blocked":           {configv1.RegistrySources{BlockedRegistries: []string{"registry.redhat.io"}}, guestCatalogs, 1},
		"their registry is allowed":           {configv1.RegistrySources{AllowedRegistries: []string{"quay.io", "registry.redhat.io"}}, guestCatalogs, 0},
		"they run in the management cluster":  {configv1.RegistrySources{AllowedRegistries: []string{"quay.io"}}, func(*hcp.Objects) {}, 0},
		"they have another registry":          {configv1.RegistrySources{AllowedRegistries: []string{"quay.io"}}, catalogsBy("registry.redhat.io=quay.io"), 0},
		"the other one has a space before it": {configv1.RegistrySources{AllowedRegistries: []string{"quay.io"}}, catalogsBy("a=b, registry.redhat.io=quay.io"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := reaching(t, c.given)
			o.HostedCluster.Spec.Configuration.Image = &configv1.ImageSpec{RegistrySources: c.sources}
			_, ps := plan(asCached(t, o))
			g.Expect(causesOf(ps, problem.CatalogsRefused)).To(HaveLen(c.want))
			g.Expect(causesOf(ps, problem.RegistriesRefused)).To(BeEmpty())
		})
	}
}

func guestCatalogs(o *hcp.Objects) {
	o.HostedCluster.Spec.OLMCatalogPlacement = hyperv1.GuestOLMCatalogPlacement
}

// catalogsBy returns a change: catalogs on nodes come from the registries of an annotation.
func catalogsBy(overrides string) change {
	return func(o *hcp.Objects) {
		guestCatalogs(o)
		o.HostedCluster.Annotations["hypershift.openshift.io/olm-catalogs-is-registry-overrides"] = overrides
	}
}

// TestRefusedRegistries: nodes refuse images whose registry the hosted cluster does not allow, or blocks. The machine config operator
// never blocks the repository of the release.
func TestRefusedRegistries(t *testing.T) {
	const ofRelease = "quay.io/openshift-release-dev/ocp-release:4.20"
	sources := func(s configv1.RegistrySources) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration.Image = &configv1.ImageSpec{RegistrySources: s}
		}
	}
	allowed := func(scopes ...string) change { return sources(configv1.RegistrySources{AllowedRegistries: scopes}) }
	blocked := func(scopes ...string) change { return sources(configv1.RegistrySources{BlockedRegistries: scopes}) }
	agent := func(o *hcp.Objects) {
		o.HostedCluster.Annotations[hyperv1.KonnectivityAgentImageAnnotation] = "Registry.corp.example:5000/team/agent@sha256:1"
	}
	const corp = "registry.corp.example:5000"
	// mirrored gives sources a mirror on the network.
	mirrored := func(sources ...string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = nil
			for _, s := range sources {
				o.HostedCluster.Spec.ImageContentSources = append(o.HostedCluster.Spec.ImageContentSources, hyperv1.ImageContentSource{Source: s, Mirrors: []string{"192.168.100.7:5000/m"}})
			}
		}
	}
	unmirrored := func(source string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: source}}
		}
	}
	const parts = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
	ofMirror := release("mirror.example.com/ocp/release:4.20")
	ofPool := func(image string) change { return func(o *hcp.Objects) { o.NodePools[0].Spec.Release.Image = image } }
	for name, c := range map[string]struct {
		given []change
		want  string
	}{
		"nothing is set":                                                      {[]change{agent}, ""},
		"the registry of the release is allowed":                              {[]change{allowed("quay.io")}, ""},
		"its namespace is allowed":                                            {[]change{allowed("quay.io/openshift-release-dev")}, ""},
		"its repository is allowed":                                           {[]change{allowed("quay.io/openshift-release-dev/ocp-release")}, "quay.io"},
		"its tag is allowed":                                                  {[]change{allowed(ofRelease)}, "quay.io"},
		"its repository and that of its parts are allowed":                    {[]change{allowed("quay.io/openshift-release-dev/ocp-release", parts)}, ""},
		"another repository of its registry is allowed":                       {[]change{allowed("quay.io/mycorp", "registry.redhat.io")}, "quay.io"},
		"another one of its registry, and a gateway":                          {[]change{allowed("quay.io/mycorp"), annotated("gateway", "192.168.100.1")}, "quay.io"},
		"another one, and a source with a mirror around it":                   {[]change{mirrored("quay.io/openshift-release-dev"), allowed("quay.io/openshift-release-dev/ocp-release")}, "quay.io"},
		"the repository of its parts is blocked":                              {[]change{blocked(parts)}, "quay.io"},
		"the namespace of both is blocked":                                    {[]change{blocked("quay.io/openshift-release-dev")}, ""},
		"a NodePool has a release of OKD, whose parts are blocked":            {[]change{ofPool("quay.io/okd/scos-release:4.20"), blocked("quay.io/okd/scos-content")}, "quay.io"},
		"a NodePool has a release of OKD, whose parts are not allowed":        {[]change{ofPool("quay.io/okd/scos-release:4.20"), allowed("quay.io/openshift-release-dev")}, "quay.io"},
		"the parts are on a registry that is not allowed, and edges allow it": {[]change{ofMirror, mirrored(), allowed("mirror.example.com"), annotated(network.KeyAllowedHosts, "auto,quay.io")}, "quay.io"},
		"the parts are on a registry that is blocked, and edges allow it":     {[]change{ofMirror, mirrored(), blocked("quay.io"), annotated(network.KeyAllowedHosts, "auto,quay.io")}, "quay.io"},
		"the parts may be on a registry that is not allowed":                  {[]change{ofMirror, mirrored(), allowed("mirror.example.com")}, "Info quay.io"},
		"the parts may be on a registry that is blocked, and a gateway":       {[]change{ofMirror, mirrored(), blocked("quay.io"), annotated("gateway", "192.168.100.1")}, "Info quay.io"},
		"the repository of its parts is allowed":                              {[]change{allowed("quay.io/openshift-release-dev/ocp-v4.0-art-dev")}, ""},
		"a part of a registry's name is allowed":                              {[]change{allowed("quay.i")}, "quay.io"},
		"a part of a repository's name":                                       {[]change{allowed("quay.io", corp+"/te"), agent}, corp},
		"the namespace of an image of nodes":                                  {[]change{allowed("quay.io", corp+"/team"), agent}, ""},
		"another registry is allowed":                                         {[]change{allowed("mirror.example.com")}, "quay.io"},
		"another one, and a gateway":                                          {[]change{allowed("mirror.example.com"), annotated("gateway", "192.168.100.1")}, "quay.io"},
		"all but an image of nodes are allowed":                               {[]change{allowed("quay.io"), agent}, corp},
		"a domain is allowed":                                                 {[]change{allowed("quay.io", "*.example"), agent}, ""},
		"the registry at another port":                                        {[]change{allowed("quay.io", "registry.corp.example"), agent}, corp},
		"the registry of the release is blocked":                              {[]change{blocked("quay.io")}, ""},
		"an image of nodes is blocked":                                        {[]change{blocked("*.corp.example"), agent}, corp},
		"only the mirror of the parts is allowed":                             {[]change{ofMirror, mirrored(parts), allowed("mirror.example.com")}, "quay.io"},
		"the parts and their mirror are allowed":                              {[]change{ofMirror, mirrored(parts), allowed("mirror.example.com", parts)}, ""},
		"a part of a mirrored source is allowed":                              {[]change{ofMirror, mirrored("quay.io/openshift-release-dev"), allowed("mirror.example.com", parts)}, ""},
		"the parts are blocked, and have a mirror":                            {[]change{ofMirror, mirrored(parts), blocked("quay.io")}, "quay.io"},
		"the release and its parts have mirrors, and the registry is blocked": {[]change{mirrored("quay.io/openshift-release-dev/ocp-release", parts), blocked("quay.io")}, "quay.io"},
		"only the parts have a mirror, and the registry is blocked":           {[]change{mirrored(parts), blocked("quay.io")}, ""},
		"a source that is not allowed has no mirror":                          {[]change{unmirrored("docker.io/library"), allowed("quay.io")}, ""},
		"the repository of the release is blocked, and has a mirror":          {[]change{mirrored("quay.io/openshift-release-dev/ocp-release"), blocked("quay.io/openshift-release-dev/ocp-release")}, "quay.io"},
		"the same, and another registry":                                      {[]change{mirrored("quay.io/openshift-release-dev/ocp-release"), blocked("quay.io/openshift-release-dev/ocp-release", "docker.io")}, ""},
		"an image of nodes with the registry": {[]change{blocked("quay.io"), func(o *hcp.Objects) {
			o.HostedCluster.Annotations[hyperv1.KonnectivityAgentImageAnnotation] = "quay.io/team/agent:1"
		}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refusing(t, c.want, append([]change{release(ofRelease), mirrored()}, c.given...)...)
		})
	}
}

// refusing checks which registries nodes refuse.
func refusing(t *testing.T, want string, given ...change) {
	g := NewWithT(t)
	_, ps := plan(asCached(t, reaching(t, given...)))
	ps = causesOf(ps, problem.RegistriesRefused)
	if want == "" {
		g.Expect(ps).To(BeEmpty())
		return
	}
	want, hint := strings.CutPrefix(want, "Info ")
	g.Expect(ps).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("hosts", problem.Values{want}))))
	g.Expect(ps[0].Severity == problem.SeverityInfo).To(Equal(hint))
}
