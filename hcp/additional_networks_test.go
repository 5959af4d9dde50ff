package hcp_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// withStorage adds the network namespace/name to the NodePool of o, whose VMs still boot from vlan100. No VM exists. If
// config is empty, its NAD does not exist.
func withStorage(o *hcp.Objects, namespace, name, config string) {
	o.VMs = nil
	k := o.NodePools[0].Spec.Platform.Kubevirt
	k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: namespace + "/" + name})
	if config == "" {
		return
	}
	nad := *o.NetworkAttachmentDefinitions[0].DeepCopy()
	nad.Namespace, nad.Name, nad.Annotations, nad.Spec.Config = namespace, name, nil, config
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
}

// TestVMsNeedEachNetwork: a VM starts only if it gets each network that its NodePool names. So a NAD with which no VM starts is an Error, whether or not VMs
// boot from it and annotation network selects it. The network that VMs boot from is still served. A VM that is attached refutes the Error.
func TestVMsNeedEachNetwork(t *testing.T) {
	const bridge = `{"cniVersion":"0.3.1","name":"storage","type":"bridge","bridge":"br2","vlan":300,"ipam":{}}`
	for name, c := range map[string]struct {
		namespace, nad, config, resource string
		isolates                         bool
		want                             problem.Cause
		severity, unselected             problem.Severity
	}{
		"a network like any other": {config: bridge},
		"it is missing":            {want: problem.NADNotFound, severity: problem.SeverityError, unselected: problem.SeverityError},
		"a name without end":       {nad: "a/b", want: problem.NADNameInvalid, severity: problem.SeverityError, unselected: problem.SeverityError},
		"a dot in its name":        {nad: "storage.1", config: bridge, want: problem.NADNameHasDot, severity: problem.SeverityError, unselected: problem.SeverityError},
		"no version":               {config: `{"name":"storage","type":"bridge","bridge":"br2"}`, want: problem.NADVersionTooOld, severity: problem.SeverityError, unselected: problem.SeverityError},
		"no JSON":                  {config: `{`, want: problem.NADConfigInvalid, severity: problem.SeverityError, unselected: problem.SeverityError},
		"another namespace":        {namespace: "storage", config: bridge, isolates: true, want: problem.NADNamespaceIsolated, severity: problem.SeverityError, unselected: problem.SeverityError},
		"a resource of no node":    {config: bridge, resource: "bridge.network.kubevirt.io/br2", want: problem.NADResourceMissing, severity: problem.SeverityError, unselected: problem.SeverityError},
		"addresses without an interface": {config: `{"cniVersion":"0.3.1","type":"bridge","bridge":"br2","disableContainerInterface":true,"ipam":{"type":"whereabouts"}}`,
			want: problem.NADRefusedByPlugin, severity: problem.SeverityError, unselected: problem.SeverityError},
		"addresses of its own":                 {config: `{"cniVersion":"0.3.1","type":"bridge","bridge":"br2","ipam":{"type":"whereabouts"}}`, want: problem.NADAssignsAddresses, severity: problem.SeverityInfo},
		"addresses of its own, and no version": {config: `{"type":"bridge","bridge":"br2","ipam":{"type":"whereabouts"}}`, want: problem.NADAssignsAddresses, severity: problem.SeverityInfo},
		"addresses of OVN-Kubernetes": {config: `{"cniVersion":"0.3.1","name":"storage","type":"ovn-k8s-cni-overlay","topology":"layer2","subnets":"10.9.0.0/24","netAttachDefName":"default/storage"}`,
			want: problem.NADAssignsAddresses, severity: problem.SeverityInfo},
		"a type that edges do not join": {config: `{"type":"ipvlan","master":"eth1"}`, want: problem.NADTypeUnsupported, severity: problem.SeverityWarning},
		"a misspelled VLAN":             {config: `{"cniVersion":"0.3.1","type":"bridge","bridge":"br2","vlanId":300}`, want: problem.NADVLANMisspelled, severity: problem.SeverityWarning},
	} {
		if c.namespace == "" {
			c.namespace = "default"
		}
		if c.nad == "" {
			c.nad = "storage"
		}
		causes := []problem.Cause{problem.NADNotFound, problem.NADNameInvalid, problem.NADNameHasDot, problem.NADVersionTooOld, problem.NADConfigInvalid, problem.NADNamespaceIsolated, problem.NADResourceMissing,
			problem.NADRefusedByPlugin, problem.NADAssignsAddresses, problem.NADTypeUnsupported, problem.NADVLANMisspelled, problem.NADHasIPAM, problem.OVNHasSubnets}
		given := func(t *testing.T, selected string) hcp.Objects {
			o := served(t)
			o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name, o.NetworkAttachmentDefinitions[0].Namespace = "default/vlan100", "default"
			withStorage(&o, c.namespace, c.nad, c.config)
			o.Management.MultusIsolates = c.isolates
			if c.resource != "" {
				o.NetworkAttachmentDefinitions[1].Annotations = map[string]string{resourceName: c.resource}
			}
			settle(&o, network.KeyNetwork, selected)
			return o
		}
		for selected, severity := range map[string]problem.Severity{"auto": c.severity, "default/vlan100": c.unselected} {
			t.Run(name+", "+selected, func(t *testing.T) {
				g := NewWithT(t)
				p, ps := plan(given(t, selected))
				g.Expect(p.Networks).To(HaveLen(1), "%v", ps)
				g.Expect(p.Networks[0].Name).To(Equal("default.vlan100"))
				if severity == "" {
					g.Expect(causesOf(ps, causes...)).To(BeEmpty())
					return
				}
				g.Expect(causesOf(ps, causes...)).To(HaveExactElements(And(HaveField("Cause", c.want), HaveField("Severity", severity), HaveField("Confined", severity == problem.SeverityError))))
			})
			t.Run(name+", "+selected+", a VM is attached", func(t *testing.T) {
				g, o := NewWithT(t), given(t, selected)
				o.VMs = []lenient.VirtualMachineInstance{{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "one"},
					Spec:   lenient.VMSpec{Networks: []lenient.VMNetwork{{Name: "a", Multus: &lenient.VMMultus{NetworkName: c.namespace + "/" + c.nad}}}},
					Status: lenient.VMStatus{Interfaces: []lenient.VMInterface{{Name: "a", MAC: "02:00:00:00:00:01"}}}}}
				_, ps := plan(o)
				g.Expect(hasError(causesOf(ps, causes...))).To(BeFalse(), "%v", ps)
			})
		}
	}
}

// TestAdditionalNetworkWithAddresses: a network that assigns addresses itself stays as it is, unless the user wants edges to serve it.
func TestAdditionalNetworkWithAddresses(t *testing.T) {
	g, o := NewWithT(t), served(t)
	withStorage(&o, "default", "storage", `{"cniVersion":"0.3.1","type":"bridge","bridge":"br2","ipam":{"type":"whereabouts"}}`)
	o.NetworkAttachmentDefinitions[1].Annotations = map[string]string{settings.Prefix + network.KeyCIDR: "10.9.0.0/24"}
	_, ps := plan(o)
	g.Expect(causesOf(ps, problem.NADHasIPAM, problem.NADAssignsAddresses)).To(HaveExactElements(And(HaveField("Cause", problem.NADHasIPAM), HaveField("Severity", problem.SeverityWarning))))
}

// TestNodesWithTheResource: VMs and edges start only on nodes that their selector allows, so one of these must offer the resource. Manifests of nodes
// in files, without a status, show nothing.
func TestNodesWithTheResource(t *testing.T) {
	const of = "bridge.network.kubevirt.io/br1"
	node := func(name, zone string, offers bool) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
		if offers {
			n.Status.Allocatable[of] = resource.MustParse("1k")
		}
		return n
	}
	manifest := func(o *hcp.Objects) {
		o.Partial = true
		for i := range o.Nodes {
			o.Nodes[i].Status = corev1.NodeStatus{}
		}
	}
	selects := func(zone string) change {
		return func(o *hcp.Objects) {
			o.NodePools[0].Spec.Platform.Kubevirt.NodeSelector = map[string]string{"zone": zone}
		}
	}
	edges := func(zone string) change { return annotated(network.KeyEdgeNodeSelector, "zone="+zone) }
	permitted := func(o *hcp.Objects) { o.Permissions.NodeLabels = []string{"zone"} }
	both := func(all ...change) change {
		return func(o *hcp.Objects) {
			for _, c := range all {
				c(o)
			}
		}
	}
	for name, c := range map[string]struct {
		given change
		want  problem.Cause
	}{
		"no selector":                         {func(*hcp.Objects) {}, ""},
		"VMs where it is":                     {selects("a"), ""},
		"VMs where it is not":                 {selects("b"), problem.VMsWithoutResource},
		"VMs where no node is":                {selects("c"), ""},
		"no VM":                               {both(selects("b"), func(o *hcp.Objects) { o.NodePools[0].Spec.Replicas = new(int32) }), ""},
		"VMs need a network without edges":    {both(selects("b"), annotated(network.KeyNetwork, "default/other")), problem.VMsWithoutResource},
		"edges where it is":                   {both(permitted, edges("a")), ""},
		"edges where it is not":               {both(permitted, edges("b")), problem.EdgesWithoutResource},
		"no node offers it":                   {func(o *hcp.Objects) { o.Nodes = o.Nodes[1:] }, problem.NADResourceMissing},
		"manifests of nodes":                  {manifest, ""},
		"manifests of nodes, and one of them": {both(func(o *hcp.Objects) { o.Nodes = o.Nodes[1:] }, manifest, selects("b")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			fresh(&o)
			o.NetworkAttachmentDefinitions[0].Annotations[resourceName] = of
			o.Nodes = []corev1.Node{node("one", "a", true), node("two", "b", false), node("three", "b", false)}
			c.given(&o)
			_, ps := plan(o)
			want := BeEmpty()
			if c.want != "" {
				want = HaveExactElements(HaveField("Cause", c.want))
			}
			g.Expect(causesOf(ps, problem.VMsWithoutResource, problem.EdgesWithoutResource, problem.NADResourceMissing)).To(want, "%v", ps)
		})
	}
}

// TestNodesWithTheBridge: without a resource in the NAD, VMs and edges also start on nodes that lack its bridge. The bridge that the plugin then creates has no uplink.
func TestNodesWithTheBridge(t *testing.T) {
	const marker = "bridge.network.kubevirt.io/"
	node := func(name, zone, bridge string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}}
		n.Status.Allocatable = corev1.ResourceList{"devices.kubevirt.io/kvm": resource.MustParse("1k"), corev1.ResourceName(marker + bridge): resource.MustParse("1k")}
		return n
	}
	selects := func(zone string) change {
		return func(o *hcp.Objects) {
			o.NodePools[0].Spec.Platform.Kubevirt.NodeSelector = map[string]string{"zone": zone}
		}
	}
	edges := func(zone string) change {
		return func(o *hcp.Objects) {
			annotate(o, network.KeyEdgeNodeSelector, "zone="+zone)
			o.Permissions.NodeLabels = []string{"zone"}
		}
	}
	each := func(change func(*corev1.Node)) change {
		return func(o *hcp.Objects) {
			for i := range o.Nodes[1:] {
				change(&o.Nodes[i+1])
			}
		}
	}
	taint := func(key, value string) change {
		return each(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
		})
	}
	requested := func(o *hcp.Objects) { o.NetworkAttachmentDefinitions[0].Annotations[resourceName] = marker + "br1" }
	second := func(o *hcp.Objects) {
		withStorage(o, "default", "storage", `{"cniVersion":"0.3.1","type":"bridge","bridge":"br2","disableContainerInterface":true}`)
		for i := range o.Nodes {
			o.Nodes[i].Status.Allocatable[marker+"br1"] = resource.MustParse("1k")
		}
		o.Nodes[0].Status.Allocatable[marker+"br2"] = resource.MustParse("1k")
		o.NetworkAttachmentDefinitions[1].Annotations = map[string]string{settings.Prefix + network.KeyCIDR: "10.9.0.0/24"}
	}
	for name, c := range map[string]struct {
		given []change
		want  string
	}{
		"on one node of three":                    {nil, "NADBridgeOnSomeNodes Warning two, three"},
		"and the NAD requests it":                 {[]change{requested}, ""},
		"VMs where it is":                         {[]change{selects("a")}, ""},
		"VMs where it is not":                     {[]change{selects("b")}, "NADBridgeNotSelected Warning"},
		"VMs where it is not, and no VM":          {[]change{selects("b"), func(o *hcp.Objects) { o.NodePools[0].Spec.Replicas = new(int32) }}, "NADBridgeOnSomeNodes Warning two, three"},
		"VMs where it is not, by a patch":         {[]change{patching(false, `[{"op":"add","path":"/spec/template/spec/nodeSelector","value":{"zone":"b"}}]`)}, "NADBridgeNotSelected Warning"},
		"edges where it is, VMs anywhere":         {[]change{edges("a")}, "NADBridgeOnSomeNodes Warning two, three"},
		"edges where it is not":                   {[]change{edges("b")}, "NADBridgeNotSelected Warning"},
		"edges where it is not, VMs where it is":  {[]change{selects("a"), edges("b")}, "NADBridgeNotSelected Warning"},
		"edges and VMs where it is":               {[]change{selects("a"), edges("a")}, ""},
		"KubeVirt runs only where it is":          {[]change{each(func(n *corev1.Node) { delete(n.Status.Allocatable, "devices.kubevirt.io/kvm") })}, "NADBridgeOnSomeNodes Warning two, three"},
		"KubeVirt and edges run where it is":      {[]change{edges("a"), each(func(n *corev1.Node) { delete(n.Status.Allocatable, "devices.kubevirt.io/kvm") })}, ""},
		"the others have a taint":                 {[]change{taint("node-role.kubernetes.io/control-plane", "")}, ""},
		"and VMs tolerate it by a patch":          {[]change{taint("gpu", ""), patching(false, `[{"op":"add","path":"/spec/template/spec/tolerations","value":[{"key":"gpu","operator":"Exists"}]}]`)}, "NADBridgeOnSomeNodes Warning two, three"},
		"the others are for control planes":       {[]change{taint("hypershift.openshift.io/control-plane", "true")}, "NADBridgeOnSomeNodes Warning two, three"},
		"the cache of the operator has no labels": {[]change{func(o *hcp.Objects) { o.Nodes[0].Labels = nil }, each(func(n *corev1.Node) { n.Labels = nil })}, ""},
		"a patch changes the interfaces":          {[]change{edges("a"), patching(false, `[{"op":"add","path":"/spec/template/spec/domain/devices/interfaces/0/masquerade","value":{}}]`)}, ""},
		"a second network":                        {[]change{second}, "NADBridgeOnSomeNodes Info two, three"},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			fresh(&o)
			o.Nodes = []corev1.Node{node("one", "a", "br1"), node("two", "b", "br0"), node("three", "b", "br0")}
			for _, change := range c.given {
				change(&o)
			}
			_, ps := plan(o)
			var got []string
			for _, p := range causesOf(ps, problem.NADBridgeOnSomeNodes, problem.NADBridgeNotSelected, problem.VMsWithoutResource, problem.EdgesWithoutResource) {
				nodes := slices.Clone(p.Args["nodes"])
				slices.SortFunc(nodes, func(a, b string) int { return strings.Compare(b, a) })
				got = append(got, strings.TrimSpace(string(p.Cause)+" "+string(p.Level())+" "+problem.Values(nodes).String()))
			}
			g.Expect(strings.Join(got, "; ")).To(Equal(c.want))
		})
	}
}
