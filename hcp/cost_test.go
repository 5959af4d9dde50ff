package hcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/cost"
)

// A shape turns np into NodePool i of o.
type shape func(o *hcp.Objects, np *hyperv1.NodePool, i int)

// names returns the shape whose NodePools each name a network of their own. It exists if exists is set.
func names(namespace string, exists bool) shape {
	return func(o *hcp.Objects, np *hyperv1.NodePool, i int) {
		name := fmt.Sprintf("x%d", i)
		np.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: namespace + "/" + name}}
		np.Annotations = map[string]string{settings.Prefix + network.KeyCIDR: fmt.Sprintf("10.9.%d.0/24", i)}
		if exists {
			define(o, name)
			o.NetworkAttachmentDefinitions[len(o.NetworkAttachmentDefinitions)-1].Namespace = namespace
		}
	}
}

// withNodePools returns a cluster with count NodePools more.
func withNodePools(t *testing.T, count int, each shape) hcp.Objects {
	t.Helper()
	o := served(t)
	for i := range count {
		np := *o.NodePools[0].DeepCopy()
		np.Name = fmt.Sprintf("pool%d", i)
		each(&o, &np, i)
		o.NodePools = append(o.NodePools, np)
	}
	return o
}

// TestNodePoolsCostLinearly: up to the limits, each further NodePool costs the same. Beyond the limits, a cluster costs almost nothing.
func TestNodePoolsCostLinearly(t *testing.T) {
	of := func(o hcp.Objects) func() {
		return func() {
			r, f := hcp.Translate(o, network.Plan{})
			derive.Derive(r, f, network.Plan{}, nil)
			networks.SettingSources(o, r.Networks...)
			networks.All(o, network.Plan{})
		}
	}
	for name, c := range map[string]struct {
		shape
		most int
	}{
		"one network":               {func(*hcp.Objects, *hyperv1.NodePool, int) {}, objects.MaxNodePools - 10},
		"networks":                  {names("default", true), objects.MaxNetworks - 10},
		"networks of others":        {names("clusters", true), objects.MaxNetworks - 10},
		"networks that are missing": {names("default", false), objects.MaxNetworks - 10},
		"different values": {func(_ *hcp.Objects, np *hyperv1.NodePool, i int) {
			np.Annotations = map[string]string{settings.Prefix + network.KeyLeaseTime: fmt.Sprintf("%dm", 10+i)}
		}, objects.MaxNodePools - 10},
		"values of the HostedCluster": {func(o *hcp.Objects, np *hyperv1.NodePool, _ int) {
			o.HostedCluster.Annotations[settings.Prefix+network.KeyLeaseTime+"."+np.Name] = "10m"
		}, objects.MaxNodePools - 10},
	} {
		t.Run(name, func(t *testing.T) {
			many := of(withNodePools(t, c.most, c.shape))
			ratio := cost.Ratio(of(withNodePools(t, c.most/10, c.shape)), many)
			t.Logf("%d NodePools cost %.1f times as much as %d", c.most, ratio, c.most/10)
			NewWithT(t).Expect(ratio).To(BeNumerically("<", 40), "each compared with all would be 100")
			ratio = cost.Ratio(many, of(withNodePools(t, 2_000, c.shape)))
			t.Logf("2,000 NodePools cost %.1f times as much as %d", ratio, c.most)
			NewWithT(t).Expect(ratio).To(BeNumerically("<", 4))
		})
	}
}

// TestTooManyNetworks: a cluster beyond a limit gets no plan, and a problem says why. Its plan in force stays. For other clusters, it
// requests nothing, and is only on the networks of its plan in force.
func TestTooManyNetworks(t *testing.T) {
	listsMany := func(_ *hcp.Objects, np *hyperv1.NodePool, _ int) {
		all := np.Spec.Platform.Kubevirt.AdditionalNetworks
		np.Spec.Platform.Kubevirt.AdditionalNetworks = slices.Repeat(all, objects.MaxNodePools)
	}
	same := func(*hcp.Objects, *hyperv1.NodePool, int) {}
	for name, c := range map[string]struct {
		shape
		within, beyond int
		cause          problem.Cause
	}{
		"networks":                 {names("default", false), objects.MaxNetworks - 1, objects.MaxNetworks, problem.NetworksTooMany},
		"NodePools":                {same, objects.MaxNodePools - 2, objects.MaxNodePools, problem.NodePoolsTooMany},
		"one network in NodePools": {listsMany, 0, 1, problem.NodePoolsTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			last, _, ok := planned(served(t), network.Plan{})
			g.Expect(ok).To(BeTrue())
			within, beyond := withNodePools(t, c.within, c.shape), withNodePools(t, c.beyond, c.shape)
			within.VMs, beyond.VMs = nil, nil
			g.Expect(objects.TooMany(within)).To(BeEmpty())
			r, f := hcp.Translate(beyond, last)
			d := derive.Derive(r, f, last, nil)
			g.Expect(d.Problems).To(ContainElement(And(HaveField("Cause", c.cause), HaveField("Severity", problem.SeverityError))))
			_, ok = d.Plan()
			g.Expect(ok).To(BeFalse(), "the plan in force stays")
			other := served(t)
			other.HostedCluster = other.HostedCluster.DeepCopy()
			other.HostedCluster.Name = "green"
			on := networks.All(other, last)
			n, ok := hcp.NewNeighbor(beyond, last).For(other.HostedCluster, on)
			g.Expect(ok).To(BeTrue(), "its edges are there")
			g.Expect(n.Wants.Networks).To(BeEmpty())
			_, ok = hcp.NewNeighbor(beyond, network.Plan{}).For(other.HostedCluster, on)
			g.Expect(ok).To(BeFalse())
		})
	}
}

// TestNetworkThatDoesNotAllow: a cluster that names a network which does not allow it is not on that network, and so does not affect the
// cluster that is. With a VM there, it is on the network.
func TestNetworkThatDoesNotAllow(t *testing.T) {
	g := NewWithT(t)
	blue, green := served(t), served(t)
	green.HostedCluster.Name = "green"
	for _, o := range []*hcp.Objects{&blue, &green} {
		o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "clusters-blue/vlan100"
		o.NetworkAttachmentDefinitions[0].Namespace, o.NetworkAttachmentDefinitions[0].Name = "clusters-blue", "vlan100"
		o.NetworkAttachmentDefinitions[0].Annotations = map[string]string{}
	}
	vms := green.VMs
	green.VMs = nil
	on := networks.All(blue, network.Plan{})
	neighbor := func() bool {
		_, ok := hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, on)
		return ok
	}
	g.Expect(on).NotTo(BeEmpty())
	g.Expect(neighbor()).To(BeFalse())

	green.NetworkAttachmentDefinitions[0].Annotations[settings.Prefix+network.KeyNamespaces] = "clusters-green"
	g.Expect(neighbor()).To(BeTrue(), "the NAD allows it")

	green.NetworkAttachmentDefinitions[0].Annotations = nil
	green.VMs = vms
	for i := range green.VMs {
		green.VMs[i].Namespace = "clusters-green"
		for j := range green.VMs[i].Spec.Networks {
			if m := green.VMs[i].Spec.Networks[j].Multus; m != nil {
				m.NetworkName = "clusters-blue/vlan100"
			}
		}
	}
	g.Expect(neighbor()).To(BeTrue(), "a VM is attached")
}

// TestForeignNADsCostNothing: whether a NAD allows a cluster costs the same, whatever else its annotations have.
func TestForeignNADsCostNothing(t *testing.T) {
	cost := func(annotations map[string]string) float64 {
		nad := nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: "x", Annotations: annotations}}
		return testing.AllocsPerRun(10, func() { networks.Allows(nad, "clusters-blue") })
	}
	const key = settings.Prefix + network.KeyNamespaces
	alone := cost(map[string]string{key: "evil-evil"})
	for _, prefix := range []string{"", settings.Prefix, "hostedclusters.densityops.com/"} {
		many := map[string]string{key: "evil-evil"}
		for i := range 2_000 {
			many[fmt.Sprint(prefix, i)] = ""
		}
		NewWithT(t).Expect(cost(many)).To(Equal(alone), "2,000 annotations %q", prefix)
	}
	NewWithT(t).Expect(cost(map[string]string{key: strings.Repeat("evil-evil,", 10_000) + "evil"})).To(Equal(alone), "10,000 namespaces")
}

// TestUnknownAnnotationsAreFew: of an object's annotations without effect, problems name 16. The others are counted.
func TestUnknownAnnotationsAreFew(t *testing.T) {
	g := NewWithT(t)
	all := map[string]string{settings.Prefix + network.KeyMTU: "1", "hypershift.openshift.io/" + network.KeyMTU: "9000"}
	for i := range 100 {
		all[fmt.Sprintf("%sx%03d", settings.Prefix, i)] = ""
		all[fmt.Sprintf("hostedclusters.densityops.com/x%03d", i)] = ""
	}
	problems := settings.Check("NodePool", "blue", all)
	g.Expect(problems).To(HaveLen(16 + 2))
	g.Expect(problems).To(ContainElement(HaveField("Reason", problem.AnnotationInvalid)))
	last := problems[len(problems)-1]
	g.Expect(last.Reason).To(Equal(problem.AnnotationUnknown))
	g.Expect(message(last)).To(ContainSubstring("185"))
}

// TestImagesCostLinearly: each further image, mirror or scope costs the same.
func TestImagesCostLinearly(t *testing.T) {
	numbered := func(format string, count int) (out []string) {
		for i := range count {
			out = append(out, fmt.Sprintf(format, i))
		}
		return out
	}
	for name, put := range map[string]func(hc *hyperv1.HostedCluster, c *configv1.ImageSpec, count int){
		"mirrors": func(hc *hyperv1.HostedCluster, _ *configv1.ImageSpec, count int) {
			hc.Annotations[settings.Prefix+network.KeyAllowedHosts] = "none"
			for _, source := range numbered("quay.io/%d", 10) {
				hc.Spec.ImageContentSources = append(hc.Spec.ImageContentSources, hyperv1.ImageContentSource{Source: source, Mirrors: numbered("%d.example.com", count/10)})
			}
		},
		"images and scopes": func(hc *hyperv1.HostedCluster, c *configv1.ImageSpec, count int) {
			hc.Annotations[hyperv1.ImageOverridesAnnotation] = strings.Join(numbered("a=quay.io/%d", count), ",")
			c.RegistrySources.AllowedRegistries = append(numbered("r%d", count), "quay.io")
			c.RegistrySources.BlockedRegistries = numbered("r%d", count)
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(count int) func() {
				o := served(t)
				hc := o.HostedCluster.DeepCopy()
				hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Image: &configv1.ImageSpec{}}
				put(hc, hc.Spec.Configuration.Image, count)
				o.HostedCluster = hc
				return func() { hcp.Translate(o, network.Plan{}) }
			}
			ratio := cost.Ratio(of(250), of(2_500))
			t.Logf("2,500 cost %.1f times as much as 250", ratio)
			NewWithT(t).Expect(ratio).To(BeNumerically("<", 40), "each compared with all would be 100")
		})
	}
}

// TestAddressesCostLinearly: each further address of the HostedCluster costs the same, whether it is in the CIDR of a network or not.
func TestAddressesCostLinearly(t *testing.T) {
	for _, in := range []string{"192.168", "10.77"} {
		of := func(count int) func() {
			o := served(t)
			var all []string
			for i := range count {
				all = append(all, fmt.Sprintf("02:00:00:00:%02x:%02x=%s.%d.%d", i>>8, i&0xff, in, i>>8, i&0xff))
			}
			o.HostedCluster.Annotations[settings.Prefix+network.KeyCIDR] = "192.168.0.0/16"
			o.HostedCluster.Annotations[settings.Prefix+network.KeyReservations] = strings.Join(all, ",")
			return func() { hcp.Translate(o, network.Plan{}) }
		}
		ratio := cost.Ratio(of(700), of(7_000))
		t.Logf("7,000 reservations cost %.1f times as much as 700", ratio)
		NewWithT(t).Expect(ratio).To(BeNumerically("<", 40), "each compared with all would be 100: %s", in)
	}
}

// TestEntriesHaveFewProblems: on one network, at most 16 entries of a list have a problem of their own, also if the HostedCluster has
// the list for all networks.
func TestEntriesHaveFewProblems(t *testing.T) {
	numbered := func(format string) string {
		var all []string
		for i := range 60 {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	for name, c := range map[string]struct {
		key, value string
		cause      problem.Cause
		want       int
	}{
		"DNS servers on another network": {network.KeyUpstreams, numbered("10.9.0.1%02d"), problem.UpstreamOnOtherNetwork, 9 * 16},
		"reservations":                   {network.KeyReservations, numbered("02:00:00:00:00:%02d=192.168.100.0"), problem.ReservationUnusable, 16},
		"exclusions":                     {network.KeyDHCPExclude, numbered("192.168.100.2-192.168.100.1%02d"), problem.EdgeAddressExcluded, 4},
	} {
		t.Run(name, func(t *testing.T) {
			o := withNodePools(t, 9, names("default", true))
			o.HostedCluster.Annotations[settings.Prefix+c.key] = c.value
			_, problems := plan(o)
			n := 0
			for _, p := range problems {
				if p.Cause == c.cause {
					n++
				}
			}
			NewWithT(t).Expect(n).To(Equal(c.want))
		})
	}
}

// TestSearchDomainsCostLittle: the names of a network are read once, and not again for each label of each search domain.
func TestSearchDomainsCostLittle(t *testing.T) {
	of := func(count int) func() {
		o := served(t)
		var routes []configv1.ComponentRouteSpec
		for i := range 500 {
			routes = append(routes, configv1.ComponentRouteSpec{Namespace: "n", Name: fmt.Sprint(i), Hostname: configv1.Hostname(fmt.Sprintf("x%d.y", i))})
		}
		o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &configv1.IngressSpec{ComponentRoutes: routes}}
		o.HostedCluster.Annotations[settings.Prefix+network.KeyAppsAddress] = "192.168.100.77"
		var domains []string
		for i := range count {
			domains = append(domains, fmt.Sprintf("d%d.%sz", i, strings.Repeat("a.", 100)))
		}
		o.HostedCluster.Annotations[settings.Prefix+network.KeySearchDomains] = strings.Join(domains, ",")
		return func() { plan(o) }
	}
	ratio := cost.Ratio(of(1), of(64))
	t.Logf("64 search domains cost %.1f times as much as one", ratio)
	NewWithT(t).Expect(ratio).To(BeNumerically("<", 5))
}
