package controllers

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/velero"
)

// served is the story's world, where no other host has the addresses of its edges, and its
// plan.
func served(t *testing.T, name string) (gather.World, network.Plan) {
	t.Helper()
	w := worldOf(t, golden.Find(t, name))
	d := decide.About(w, testOptions.Release, testNow)
	if d.Action != decide.Serve {
		t.Fatalf("%s is not served: %v", name, d.Problems)
	}
	w.Edges = edgesOf(checked(t, w, d.Plan)...)
	return w, d.Plan
}

// checked are the ACD Deployments for p's addresses, with no conflict found.
func checked(t *testing.T, w gather.World, p network.Plan) []appsv1.Deployment {
	t.Helper()
	var out []appsv1.Deployment
	for _, n := range p.Networks {
		out = append(out, running(acdOf(t, w, n, p.Cluster.ControlPlaneNamespace)))
	}
	return out
}

// acdOf is the address conflict detection of n.
func acdOf(t *testing.T, w gather.World, n network.Network, ns string) appsv1.Deployment {
	t.Helper()
	return made(t, own.Object(w.ControlPlane, desired.ACDDeployment(n, testOptions.Release, ns, anywhere)))
}

// anywhere avoids no node.
func anywhere(string) []string { return nil }

// made is u as the API server has it.
func made(t *testing.T, u *unstructured.Unstructured) appsv1.Deployment {
	t.Helper()
	d := appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &d, true); err != nil {
		t.Fatal(err)
	}
	return d
}

// running is d with its pod ready.
func running(d appsv1.Deployment) appsv1.Deployment {
	d.Generation++
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	return d
}

// edges are those of plan.
func edges(t *testing.T, w gather.World, plan network.Plan) (out []appsv1.Deployment) {
	t.Helper()
	release := map[string]string{wire.AnnotationRelease: testOptions.Release.Hash()}
	for _, n := range plan.Networks {
		for _, e := range n.Edges {
			d := desired.EdgeDeployment(n, e, testOptions.Release, plan.Cluster.ControlPlaneNamespace, anywhere)
			out = append(out, made(t, own.Object(w.ControlPlane, d.WithAnnotations(release))))
		}
	}
	return out
}

// edge is the first one.
func edge(t *testing.T, w gather.World, plan network.Plan) appsv1.Deployment {
	t.Helper()
	return edges(t, w, plan)[0]
}

// applied is the first Deployment that is applied to w.
func applied(t *testing.T, w gather.World) appsv1.Deployment {
	t.Helper()
	all := decide.About(w, testOptions.Release, testNow).Desired
	return made(t, all[slices.IndexFunc(all, func(u *unstructured.Unstructured) bool { return u.GroupVersionKind() == own.DeploymentKind })])
}

// TestEdgeIsRestricted holds what OpenShift's restricted-v2 and Pod Security
// restricted ask, and what they leave open and we do not.
func TestEdgeIsRestricted(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	pod := edge(t, w, plan).Spec.Template.Spec
	g.Expect(pod.HostNetwork || pod.HostPID || pod.HostIPC).To(BeFalse())
	g.Expect(pod.SecurityContext.RunAsUser).To(BeNil(), "OpenShift gives each namespace its own range")
	g.Expect(pod.SecurityContext.FSGroup).To(BeNil())
	g.Expect(pod.SecurityContext.SupplementalGroups).To(BeEmpty())
	g.Expect(pod.SecurityContext.Sysctls).To(ConsistOf(corev1.Sysctl{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}))
	for _, c := range pod.Containers {
		s := c.SecurityContext
		g.Expect(s.RunAsUser).To(BeNil(), c.Name)
		g.Expect(s.RunAsGroup).To(BeNil(), c.Name)
		g.Expect(*s.RunAsNonRoot && *s.ReadOnlyRootFilesystem && !*s.AllowPrivilegeEscalation).To(BeTrue(), c.Name)
		g.Expect(s.Capabilities).To(Equal(&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}), c.Name)
		g.Expect(s.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault), c.Name)
		g.Expect(c.Ports).NotTo(ContainElement(HaveField("HostPort", Not(BeZero()))), c.Name)
		g.Expect(len(c.Ports) > 0).To(Equal(c.Name == "dns" || c.Name == wire.Failover), c.Name)
		for _, p := range []*corev1.Probe{c.ReadinessProbe, c.StartupProbe, c.LivenessProbe} {
			g.Expect(p == nil || p.Exec != nil).To(BeTrue(), "%s: an edge may be deaf to its node", c.Name)
		}
	}
}

func TestAddressesOfAnEdge(t *testing.T) {
	for story, want := range map[string]string{
		"lb-ip":   `[{"name":"oooi-clusters-vlan100","namespace":"clusters-blue","ips":["192.168.100.2/32","192.168.100.4/24","192.168.100.3/32","10.240.0.200/32"],"interface":"net1"}]`,
		"lb-name": `[{"name":"oooi-clusters-vlan100","namespace":"clusters-blue","ips":["192.168.100.2/32","192.168.100.4/24","192.168.100.3/32"],"interface":"net1"}]`,
	} {
		t.Run(story, func(t *testing.T) {
			w, plan := served(t, story)
			NewWithT(t).Expect(edge(t, w, plan).Spec.Template.Annotations[wire.AnnotationNetworks]).To(Equal(want))
		})
	}
	t.Run("macvlan announces the addresses of a new edge, so the VIPs are on an interface without a link", func(t *testing.T) {
		g := NewWithT(t)
		w, plan := served(t, "lb-ip")
		n := &plan.Networks[0]
		n.Attachment.VIPNADConfig = `{"type":"dummy"}`
		n.Edges = n.Edges[:1]
		g.Expect(edge(t, w, plan).Spec.Template.Annotations[wire.AnnotationNetworks]).NotTo(ContainSubstring(wire.VIPDevice), "no peer serves")
		n.Edges = append(n.Edges, network.Edge{Number: 2, Address: netip.MustParseAddr("192.168.100.5")})
		g.Expect(edge(t, w, plan).Spec.Template.Annotations[wire.AnnotationNetworks]).To(Equal(
			`[{"name":"oooi-clusters-vlan100","namespace":"clusters-blue","ips":["192.168.100.4/24"],"interface":"net1"},` +
				`{"name":"oooi-vips.clusters-vlan100","namespace":"clusters-blue","ips":["192.168.100.2/32","192.168.100.3/32","10.240.0.200/32"],"interface":"vips"}]`))
		g.Expect(attachments.NADs(*n)).To(ConsistOf(
			And(HaveField("Name", "oooi-vips.clusters-vlan100"), HaveField("Config", `{"type":"dummy"}`)),
			And(HaveField("Name", "oooi-clusters-vlan100"), HaveField("Config", ContainSubstring("static")))))
		acd := acdOf(t, w, *n, "clusters-blue").Spec.Template.Annotations[wire.AnnotationNetworks]
		g.Expect(acd).NotTo(ContainSubstring(wire.VIPDevice), "it checks whether another host has the VIPs")
	})
	t.Run("a definition that takes addresses needs no sibling", func(t *testing.T) {
		g := NewWithT(t)
		w, plan := served(t, "lb-name")
		plan.Networks[0].Attachment.EdgeNADConfig = ""
		g.Expect(edge(t, w, plan).Spec.Template.Annotations[wire.AnnotationNetworks]).To(And(
			ContainSubstring(`{"name":"vlan100","namespace":"clusters",`), ContainSubstring(`"ips":["192.168.100.4/24","192.168.100.2/32",`)), "OVN takes the first for the pod's own")
		g.Expect(attachments.NADs(plan.Networks[0])).To(BeEmpty())
	})
}

func kindsOf(objects []*unstructured.Unstructured) []string {
	var out []string
	for _, u := range objects {
		out = append(out, u.GetKind())
	}
	return out
}

// TestWhatRecreatesAnEdge: recreating an edge resets all its connections. Only a change that a
// running pod cannot apply does so.
func TestWhatRecreatesAnEdge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gather.World, *network.Plan, *Options)
		anew   bool
	}{
		"a name": {func(_ *gather.World, p *network.Plan, _ *Options) { p.Networks[0].DNS.Views[0].Records = nil }, false},
		"a backend": {func(_ *gather.World, p *network.Plan, _ *Options) {
			p.Networks[0].Backends[0].ClusterIP = netip.MustParseAddr("10.9.9.9")
		}, false},
		"a listener": {func(_ *gather.World, p *network.Plan, _ *Options) {
			p.Networks[0].Listeners = p.Networks[0].Listeners[:1]
		}, false},
		"the lease time": {func(_ *gather.World, p *network.Plan, _ *Options) { p.Networks[0].DHCP.LeaseTime++ }, false},
		"a NodePool": {func(_ *gather.World, p *network.Plan, _ *Options) {
			p.Networks[0].NodePools = append(p.Networks[0].NodePools, "blue-2")
		}, false},
		"a published address": {func(_ *gather.World, p *network.Plan, _ *Options) {
			p.Networks[0].PublishedAddresses = []netip.Addr{netip.MustParseAddr("10.9.9.9")}
		}, true},
		"the next hop": {func(_ *gather.World, p *network.Plan, _ *Options) {
			p.Networks[0].NextHopVIP = netip.MustParseAddr("192.168.100.9")
		}, true},
		"our image":     {func(_ *gather.World, _ *network.Plan, o *Options) { o.Image += "2" }, true},
		"Envoy's image": {func(_ *gather.World, _ *network.Plan, o *Options) { o.EnvoyImage += "2" }, true},
		"where VMs may run": {func(_ *gather.World, p *network.Plan, _ *Options) {
			p.Networks[0].Placement.NodeSelectors = []map[string]string{{"vlan": "100"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := served(t, "lb-ip")
			o := testOptions
			n := plan.Networks[0]
			before, _ := json.Marshal(desired.EdgeDeployment(n, n.Edges[0], o.Release, "x", anywhere).Spec.Template)
			c.change(&w, &plan, &o)
			n = plan.Networks[0]
			after, _ := json.Marshal(desired.EdgeDeployment(n, n.Edges[0], o.Release, "x", anywhere).Spec.Template)
			g.Expect(string(before) != string(after)).To(Equal(c.anew))
		})
	}
}

func TestPlacement(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	w.HostedCluster.Spec.Tolerations = []corev1.Toleration{{Key: "mine", Operator: corev1.TolerationOpExists}}
	second := w.NodePools[0].DeepCopy()
	second.Name = "blue-2"
	w.NodePools = append(w.NodePools, *second)
	required := func() *corev1.NodeSelector {
		return edge(t, w, decide.About(w, testOptions.Release, testNow).Plan).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	g.Expect(edge(t, w, decide.About(w, testOptions.Release, testNow).Plan).Spec.Template.Spec.Tolerations).To(ContainElement(w.HostedCluster.Spec.Tolerations[0]))
	g.Expect(required()).To(BeNil())
	w.NodePools[0].Spec.Platform.Kubevirt.NodeSelector = map[string]string{"rack": "a"}
	g.Expect(required()).To(BeNil(), "the machines of one NodePool may run anywhere")
	w.NodePools[1].Spec.Platform.Kubevirt.NodeSelector = map[string]string{"rack": "b", "vlan": "yes"}
	g.Expect(required().NodeSelectorTerms).To(HaveLen(2))
	g.Expect(required().NodeSelectorTerms[1].MatchExpressions).To(HaveLen(2))
	w.NodePools[1].Spec.Platform = hyperv1.NodePoolPlatform{}
	g.Expect(required().NodeSelectorTerms).To(HaveLen(1))
	plan := decide.About(w, testOptions.Release, testNow).Plan
	plan.Networks[0].Attachment.ResourceName = "bridge.network.kubevirt.io/br1"
	g.Expect(edge(t, w, plan).Spec.Template.Spec.Containers[0].Resources.Limits).To(HaveKey(corev1.ResourceName("bridge.network.kubevirt.io/br1")))
}

// TestEdgesAreApart: on nodes of their own where there are two, not counted by us.
func TestEdgesAreApart(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "two-edges")
	for i, e := range edges(t, w, plan) {
		spread := e.Spec.Template.Spec.TopologySpreadConstraints
		g.Expect(spread).To(HaveLen(1))
		g.Expect(spread[0].MaxSkew).To(BeEquivalentTo(1))
		g.Expect(spread[0].WhenUnsatisfiable).To(Equal(corev1.DoNotSchedule))
		g.Expect(spread[0].TopologyKey).To(Equal(corev1.LabelHostname))
		of := labels.SelectorFromSet(spread[0].LabelSelector.MatchLabels)
		for j, other := range edges(t, w, plan) {
			g.Expect(of.Matches(labels.Set(other.Spec.Template.Labels))).To(Equal(i/2 == j/2), "%s and %s", e.Name, other.Name)
		}
	}
}

// TestAwayFromThePublishedNode: an edge there hears nothing of that node.
func TestAwayFromThePublishedNode(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	node := func(name, address string) corev1.Node {
		n := corev1.Node{}
		n.Name, n.Status.Addresses = name, []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address}}
		return n
	}
	preferred := func() []corev1.PreferredSchedulingTerm {
		return applied(t, w).Spec.Template.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	}
	w.Nodes = []corev1.Node{node("b", "10.9.9.8"), node("a", "10.9.9.9")}
	g.Expect(preferred()).To(HaveLen(1))
	w.Nodes[1] = node("a", plan.Networks[0].PublishedAddresses[0].String())
	g.Expect(preferred()).To(HaveLen(2))
	g.Expect(preferred()[1].Weight).To(BeEquivalentTo(100))
	g.Expect(preferred()[1].Preference.MatchFields).To(Equal([]corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}}}))
}

// TestEdgeRunsTheNetworksServers, and nothing listens for the others.
func TestEdgeRunsTheNetworksServers(t *testing.T) {
	w, plan := served(t, "lb-ip")
	for name, c := range map[string]struct {
		services   []network.Service
		containers []string
	}{
		"addresses only":    {[]network.Service{network.ServiceDHCP}, []string{"dhcp", "failover"}},
		"DHCP is another's": {[]network.Service{network.ServiceDNS, network.ServiceProxy}, []string{"dns", "proxy", "envoy", "failover"}},
	} {
		plan.Networks[0].Services = c.services
		var got []string
		for _, x := range edge(t, w, plan).Spec.Template.Spec.Containers {
			got = append(got, x.Name)
		}
		NewWithT(t).Expect(got).To(Equal(c.containers), name)
	}
}

// TestHandover: each server continues for longer than the failover agent needs to hand its
// machines over, and the pod outlives both.
func TestHandover(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "two-edges")
	for _, e := range edges(t, w, plan) {
		pod := e.Spec.Template.Spec
		g.Expect(*pod.TerminationGracePeriodSeconds).To(BeEquivalentTo(15))
		last := pod.Containers[len(pod.Containers)-1]
		g.Expect(last.Name).To(Equal("failover"))
		g.Expect(last.Args).To(ContainElements("failover", "--plan", "/etc/oooi/plan.json", "--watched-by", "dhcp", "--network", "--edge", e.Labels[wire.LabelEdge], "net1", "/run/oooi", "/etc/podinfo"))
		g.Expect(last.ReadinessProbe.Exec.Command).To(Equal([]string{"oooi-edge", "probe", "failover", "--run-dir", "/run/oooi"}))
		for _, c := range pod.Containers {
			if c.Name == "failover" {
				g.Expect(c.Lifecycle).To(BeNil(), "it says at once that the edge leaves")
				continue
			}
			g.Expect(c.Lifecycle.PreStop.Sleep.Seconds).To(And(BeNumerically(">", 4), BeNumerically("<", *pod.TerminationGracePeriodSeconds)), c.Name)
		}
	}
}

// TestTheNumberOfEdgesIsNoReason: adding or removing the second makes the first no
// other pod.
func TestTheNumberOfEdgesIsNoReason(t *testing.T) {
	w, plan := served(t, "two-edges")
	first := edge(t, w, plan)
	n := &plan.Networks[0]
	n.Edges, n.ReservedAddresses = n.Edges[:1], []netip.Addr{n.Edges[1].Address}
	NewWithT(t).Expect(edge(t, w, plan)).To(Equal(first))
}

// TestBudget: of two edges one may be drained, and only edges count.
func TestBudget(t *testing.T) {
	g := NewWithT(t)
	for story, want := range map[string]int{"two-edges": 2, "one-edge": 0} {
		w, plan := served(t, story)
		found := 0
		for _, u := range decide.About(w, testOptions.Release, testNow).Desired {
			if u.GroupVersionKind() != own.BudgetKind {
				continue
			}
			b := policyv1.PodDisruptionBudget{}
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &b, true)).To(Succeed())
			g.Expect(b.Spec.MaxUnavailable.IntValue()).To(Equal(1))
			g.Expect(*b.Spec.UnhealthyPodEvictionPolicy).To(Equal(policyv1.AlwaysAllow))
			n := plan.Networks[found]
			of := labels.SelectorFromSet(b.Spec.Selector.MatchLabels)
			g.Expect(of.Matches(labels.Set(wire.EdgeLabels(n, n.Edges[0]))) && of.Matches(labels.Set(wire.EdgeLabels(n, n.Edges[1])))).To(BeTrue())
			g.Expect(of.Matches(labels.Set(wire.NetworkLabels(wire.NameACD, n))) || of.Matches(labels.Set(wire.EdgeLabels(plan.Networks[1-found], n.Edges[0])))).To(BeFalse())
			found++
		}
		g.Expect(found).To(Equal(want), story)
	}
}

// TestEverythingGoesWithTheControlPlane: and holds up nothing on its way.
func TestEverythingGoesWithTheControlPlane(t *testing.T) {
	w, _ := served(t, "lb-ip")
	for _, u := range append(decide.About(w, testOptions.Release, testNow).Desired, own.Binding(w.ControlPlane, testOptions.ServiceAccount)) {
		g := NewWithT(t)
		g.Expect(u.GetFinalizers()).To(BeEmpty())
		g.Expect(u.GetNamespace()).To(Equal("clusters-blue"))
		g.Expect(u.GetOwnerReferences()).To(HaveLen(1))
		ref := u.GetOwnerReferences()[0]
		g.Expect(ref.Kind + "/" + ref.Name).To(Equal("HostedControlPlane/blue"))
		g.Expect(ref.Controller).To(BeNil())
		g.Expect(ref.BlockOwnerDeletion).To(BeNil())
		g.Expect(own.Labels().AsSelector().Matches(labels.Set(u.GetLabels()))).To(BeTrue(), "what does not carry our labels is never removed")
	}
}

// TestBackupsLeaveObjectsOut: each object that the operator writes, and each pod that follows from one, has the label by
// which Velero leaves it out of backups. No selector has it: objects of an older release lack it.
func TestBackupsLeaveObjectsOut(t *testing.T) {
	for _, story := range golden.Stories(t) {
		g := NewWithT(t)
		w := worldOf(t, story)
		_, all := writtenFor(t, &w)
		for _, u := range all {
			g.Expect(u.GetLabels()).To(HaveKeyWithValue(velero.Excluded, "true"), "%s: %s %s", story.Name, u.GetKind(), u.GetName())
			if u.GroupVersionKind() == own.DeploymentKind {
				spec := made(t, u).Spec
				g.Expect(spec.Template.Labels).To(HaveKeyWithValue(velero.Excluded, "true"), u.GetName())
				g.Expect(spec.Selector.MatchLabels).NotTo(HaveKey(velero.Excluded), u.GetName())
			}
		}
	}
}
