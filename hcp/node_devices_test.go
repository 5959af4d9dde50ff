package hcp_test

import (
	"cmp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// mapping returns an object of nmstate with a bridge mapping of OVN-Kubernetes. state is the path of what the node has, or should have.
func mapping(kind, name, state, localnet string) string {
	parts := strings.Split(state, ".")
	return "apiVersion: nmstate.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + parts[0] + ": {" + parts[1] +
		": {interfaces: [{name: eth0, mtu: 1500}], ovn: {bridge-mappings: [{localnet: " + localnet + ", bridge: br-ex}]}}}\n---\n"
}

func nodeState(node, localnet string) string {
	return mapping("NodeNetworkState", node, "status.currentState", localnet)
}

func nodePolicy(localnet string) string {
	return mapping("NodeNetworkConfigurationPolicy", "mapping", "spec.desiredState", localnet)
}

// TestBridgeMappings: a localnet of OVN-Kubernetes needs a bridge mapping on each node of VMs and edges. Its name counts if it names no
// physical network.
func TestBridgeMappings(t *testing.T) {
	const (
		ofName = `{"cniVersion":"0.3.1","name":"vlan100","type":"ovn-k8s-cni-overlay","topology":"localnet","vlanID":100,"netAttachDefName":"clusters/vlan100"}`
		none   = "LocalnetUnmapped Warning any node in the input"
	)
	of := func(key, value string) string {
		return strings.TrimSuffix(ofName, "}") + `,"` + key + `":"` + value + `"}`
	}
	ofMapped := of("physicalNetworkName", "localnet1")
	taint := func(o *hcp.Objects) {
		o.Nodes[1].Spec.Taints = []corev1.Taint{{Key: "hypershift.openshift.io/control-plane", Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	}
	selects := func(zone string) change {
		return func(o *hcp.Objects) {
			o.NodePools[0].Spec.Platform.Kubevirt.NodeSelector = map[string]string{"zone": zone}
		}
	}
	edges := func(o *hcp.Objects) {
		annotate(o, network.KeyEdgeNodeSelector, "zone=b")
		o.Permissions.NodeLabels = []string{"zone"}
	}
	onOne := nodeState("one", "localnet1") + nodeState("two", "physnet")
	for name, c := range map[string]struct {
		config, objects, want string
		given                 []change
	}{
		"no mapping is known":                {config: ofName},
		"the name is not mapped":             {config: ofName, objects: nodeState("one", "localnet1"), want: none},
		"the policies do not map it":         {config: ofName, objects: nodePolicy("localnet1"), want: none},
		"a policy removes it":                {config: ofMapped, objects: nodeState("one", "physnet") + strings.Replace(nodePolicy("localnet1"), "bridge:", "state: absent, bridge:", 1), want: none},
		"the physical network is not mapped": {config: of("physicalNetworkName", "localnet2"), objects: nodePolicy("localnet1"), want: none},
		"the physical network is mapped":     {config: ofMapped, objects: nodePolicy("localnet1")},
		"a state has it":                     {config: ofMapped, objects: nodeState("one", "localnet1")},
		"OpenShift's own":                    {config: of("physicalNetworkName", "physnet"), objects: nodePolicy("localnet1") + nodeState("two", "localnet2")},
		"objects without mappings":           {config: ofName, objects: "apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {name: x}\nspec: {desiredState: 'text'}\n"},
		"layer2":                             {config: strings.Replace(strings.Replace(ofName, "localnet", "layer2", 1), `"vlanID":100,`, "", 1), objects: nodePolicy("localnet1")},
		"a bridge":                           {config: `{"cniVersion":"0.3.1","type":"bridge","bridge":"vlan100"}`, objects: nodePolicy("localnet1")},
		"VMs use it":                         {config: ofName, objects: nodePolicy("localnet1"), want: none, given: []change{func(o *hcp.Objects) { o.VMs = served(t).VMs }}},
		"a second network":                   {config: ofName, objects: nodePolicy("localnet1"), want: "LocalnetUnmapped Info any node in the input", given: []change{func(o *hcp.Objects) { o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = nil }}},
		"on one node of two":                 {config: ofMapped, objects: onOne, want: "LocalnetUnmapped Warning nodes two"},
		"the other is for control planes":    {config: ofMapped, objects: onOne, want: "LocalnetUnmapped Warning nodes two", given: []change{taint}},
		"VMs run where it is":                {config: ofMapped, objects: onOne, given: []change{selects("a")}},
		"VMs run where it is not":            {config: ofMapped, objects: onOne, given: []change{selects("b")}, want: "LocalnetUnmapped Warning nodes that nodeSelector of NodePool blue allows"},
		"VMs run where it is, edges do not":  {config: ofMapped, objects: onOne, given: []change{selects("a"), edges}, want: "LocalnetUnmapped Warning nodes that annotation edge-node-selector allows"},
		"the other node does not report":     {config: ofMapped, objects: nodeState("one", "localnet1")},
		"the other node reports nothing yet": {config: ofMapped, objects: nodeState("one", "localnet1") + "apiVersion: nmstate.io/v1beta1\nkind: NodeNetworkState\nmetadata: {name: two}\n"},
		"a policy will map it":               {config: ofMapped, objects: onOne + nodePolicy("localnet1")},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), withCreator(t, c.objects)
			o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "clusters/vlan100"
			o.NetworkAttachmentDefinitions[0].Spec.Config = c.config
			o.Nodes = nil
			for _, node := range []string{"one a", "two b"} {
				name, zone, _ := strings.Cut(node, " ")
				n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}}
				n.Status.Allocatable = corev1.ResourceList{"devices.kubevirt.io/kvm": resource.MustParse("1k")}
				o.Nodes = append(o.Nodes, n)
			}
			for _, change := range c.given {
				change(&o)
			}
			_, ps := plan(o)
			var got []string
			for _, p := range causesOf(ps, problem.LocalnetUnmapped) {
				g.Expect(p.Args["values"]).To(ContainElement("physnet"))
				got = append(got, strings.Join([]string{string(p.Cause), string(p.Level()), p.Args["where"].String()}, " "))
			}
			g.Expect(strings.Join(got, "; ")).To(Equal(c.want), "%v", ps)
		})
	}
}

// TestBridgeMappingOfPlannedNetwork: files have a user-defined network, and the policies with its bridge mapping.
func TestBridgeMappingOfPlannedNetwork(t *testing.T) {
	const cudn = "apiVersion: k8s.ovn.org/v1\nkind: ClusterUserDefinedNetwork\nmetadata: {name: vlan101}\n" +
		"spec: {namespaceSelector: {matchLabels: {team: x}}, network: {topology: Localnet, localnet: {role: Secondary, physicalNetworkName: localnet1, ipam: {mode: Disabled}}}}\n---\n"
	for localnet, want := range map[string]int{"localnet1": 0, "localnet2": 1} {
		_, ps := translated(withCreator(t, cudn+nodePolicy(localnet)))
		NewWithT(t).Expect(causesOf(ps, problem.LocalnetUnmapped)).To(HaveLen(want), "%v", ps)
		NewWithT(t).Expect(causesOf(ps, problem.NADNotCreated)).To(HaveLen(1))
	}
}

func functions(name, resource, device string) string {
	return "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: " + name + ", namespace: openshift-sriov-network-operator}\n" +
		"spec: {resourceName: " + resource + ", numVfs: 8, deviceType: " + device + "}\n---\n"
}

// TestFunctionsBoundToVFIO: pods get no interface of a virtual function that is bound to vfio-pci. VMs start only if the user passes it to them.
func TestFunctionsBoundToVFIO(t *testing.T) {
	const sriov = `{"cniVersion":"0.3.1","name":"vlan100","type":"sriov","vlan":100,"spoofchk":"off","trust":"on"}`
	passes := patching(false, `[{"op":"remove","path":"/spec/template/spec/domain/devices/interfaces/0/bridge"},{"op":"add","path":"/spec/template/spec/domain/devices/interfaces/0/sriov","value":{}}]`)
	passesSecond := patching(false, `[{"op":"remove","path":"/spec/template/spec/domain/devices/interfaces/1/bridge"},{"op":"add","path":"/spec/template/spec/domain/devices/interfaces/1/sriov","value":{}}]`)
	second := func(o *hcp.Objects) { o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = nil }
	inUse := func(o *hcp.Objects) { o.VMs = served(t).VMs }
	vfio := functions("vfs", "vfs", "vfio-pci")
	for name, c := range map[string]struct {
		config, resource, objects string
		given                     []change
		want                      problem.Severity
	}{
		"all":                                 {objects: vfio, want: problem.SeverityError},
		"all, with another prefix":            {resource: "intel.com/vfs", objects: vfio, want: problem.SeverityError},
		"some":                                {objects: vfio + functions("more", "vfs", "netdevice"), want: problem.SeverityWarning},
		"none":                                {objects: functions("vfs", "vfs", "netdevice")},
		"those of another resource":           {objects: functions("vfs", "others", "vfio-pci")},
		"a bridge":                            {config: `{"cniVersion":"0.3.1","type":"bridge","bridge":"br1"}`, objects: vfio},
		"VMs boot from them with a patch":     {objects: vfio, given: []change{passes}, want: problem.SeverityError},
		"VMs run":                             {objects: vfio, given: []change{inUse}, want: problem.SeverityWarning},
		"a second network":                    {objects: vfio, given: []change{second}, want: problem.SeverityError},
		"a second network, which has IPAM":    {config: strings.TrimSuffix(sriov, "}") + `,"ipam":{"type":"whereabouts"}}`, objects: vfio, given: []change{second}, want: problem.SeverityError},
		"a second network, passed to the VMs": {objects: vfio, given: []change{second, passesSecond}},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), withCreator(t, c.objects)
			o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "clusters/vlan100"
			o.NetworkAttachmentDefinitions[0].Spec.Config = cmp.Or(c.config, sriov)
			o.NetworkAttachmentDefinitions[0].Annotations[resourceName] = cmp.Or(c.resource, "openshift.io/vfs")
			o.Nodes = nil
			for _, change := range c.given {
				change(&o)
			}
			_, ps := plan(o)
			want := BeEmpty()
			if c.want != "" {
				want = HaveExactElements(HaveField("Severity", c.want))
			}
			g.Expect(causesOf(ps, problem.SRIOVBoundToVFIO)).To(want, "%v", ps)
			g.Expect(ps.Blocking()).To(Equal(c.want == problem.SeverityError), "%v", ps)
		})
	}
}

// TestFunctionsOfPlannedNetwork: files have an SriovNetwork, which has no NetworkAttachmentDefinition yet.
func TestFunctionsOfPlannedNetwork(t *testing.T) {
	of := func(spec string) string {
		return "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\nmetadata: {namespace: x, name: vlan101}\nspec: {networkNamespace: clusters, resourceName: vfs, vlan: 101" + spec + "}\n---\n"
	}
	const trusted = ", spoofChk: 'off', trust: 'on'"
	for objects, want := range map[string]problem.Cause{
		of(trusted) + functions("vfs", "vfs", "netdevice"): problem.NADNotCreated,
		of(trusted) + functions("vfs", "vfs", "vfio-pci"):  problem.SRIOVBoundToVFIO,
		of(""): problem.NADChecksMACs,
		of(trusted + `, ipam: '{"type": "host-local"}'`): problem.NADHasIPAM,
		of(trusted + `, ipam: '{}'`):                     problem.NADNotCreated,
	} {
		t.Run(objects, func(t *testing.T) {
			request, ps := translated(withCreator(t, objects))
			found := causesOf(ps, problem.NADNotCreated, problem.SRIOVBoundToVFIO, problem.NADChecksMACs, problem.NADHasIPAM, problem.NADResourceMissing, problem.SRIOVResourceExhausted)
			g := NewWithT(t)
			g.Expect(found).To(ContainElement(HaveField("Cause", want)), "%v", ps)
			if want == problem.NADNotCreated {
				g.Expect(found).To(HaveLen(1))
				g.Expect(request.Networks[0].Attachment.Layer2).To(Equal("sriov openshift.io/vfs vlan 101"))
			}
		})
	}
}
