package plan

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/settings"
)

// TestNoNodeForEdges: if the labels or taints of all Nodes in the input exclude edges, the plan says so first.
func TestNoNodeForEdges(t *testing.T) {
	const selected, node = "edge-node-selector: zone=a", "  labels: {kubernetes.io/hostname: node1}\n"
	const tolerated = selected + "\n    hypershift.openshift.io/kubevirt-vm-jsonpatch: '[{\"op\": \"add\", \"path\": \"/spec/template/spec/tolerations\", \"value\": [{\"key\": \"gpu\", \"operator\": \"Exists\"}]}]'"
	for name, c := range map[string]struct{ annotation, node, want string }{
		"all Nodes":            {"edges: '2'", node, ""},
		"no Node has a label":  {selected, node, "1 are excluded by their labels"},
		"a Node has the label": {selected, "  labels: {zone: a}\n", ""},
		"it has a taint":       {tolerated, "  labels: {zone: a}\nspec: {taints: [{key: gpu, effect: NoSchedule}]}\n", "1 have taint gpu:NoSchedule"},
		"Nodes without labels": {selected, "", ""},
		"a manifest of a Node": {selected, node + "status: {}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			const network = settings.Prefix + "network: auto\n"
			text := strings.Replace(read(t, objects(t, "lb-ip")), network, network+"    "+settings.Prefix+c.annotation+"\n", 1)
			stdout, _, code := oooiPlan(t, strings.Replace(text, node, c.node, 1), "-f", "-")
			g.Expect(code).To(BeZero(), stdout)
			top, _, _ := strings.Cut(stdout, "\n\n")
			if c.want == "" {
				g.Expect(stdout).NotTo(ContainSubstring("EdgesCannotStart"))
				return
			}
			g.Expect(top).To(And(ContainSubstring("edges may not start, so nodes may not become Ready."), ContainSubstring("Fix first: EdgesCannotStart: No node may run an edge: "+c.want)))
		})
	}
}

// TestNoNodeForVMs: if the labels or taints of all Nodes in the input exclude VMs of a NodePool, the plan says so first. VMs tolerate what patches say, and
// not what the control plane does.
func TestNoNodeForVMs(t *testing.T) {
	const (
		node  = "  labels: {kubernetes.io/hostname: node1}\n"
		gpu   = "  labels: {zone: a}\nspec: {taints: [{key: gpu, effect: NoSchedule}]}\n"
		patch = `hypershift.openshift.io/kubevirt-vm-jsonpatch: '[{"op": "add", "path": "/spec/template/spec/`
	)
	other := func(status string) string {
		return "---\napiVersion: v1\nkind: Node\nmetadata: {name: other, labels: {zone: b}}\nstatus: {allocatable: {" + status + "}}\n"
	}
	for name, c := range map[string]struct{ annotation, node, more, want string }{
		"any Node":                  {"x: y", node, "", ""},
		"a selector by a patch":     {patch + `nodeSelector", "value": {"zone": "a"}}]'`, node, "", "1 are excluded by their labels"},
		"and a Node has the label":  {patch + `nodeSelector", "value": {"zone": "b"}}]'`, node, other("cpu: 1"), ""},
		"a taint":                   {"x: y", gpu, "", "1 have taint gpu:NoSchedule"},
		"of control planes":         {"x: y", strings.ReplaceAll(gpu, "gpu", "hypershift.openshift.io/control-plane"), "", "1 have taint hypershift.openshift.io/control-plane:NoSchedule"},
		"a patch tolerates it":      {patch + `tolerations", "value": [{"key": "gpu", "operator": "Exists"}]}]'`, gpu, "", ""},
		"a patch appends to others": {patch + `tolerations/-", "value": {"key": "gpu", "operator": "Exists"}}]'`, gpu, "", ""},
		"KVM is elsewhere":          {patch + `nodeSelector", "value": {"zone": "a"}}]'`, "  labels: {zone: a}\n", other(`"devices.kubevirt.io/kvm": 1k`), "1 are excluded by their labels, 1 offer no devices.kubevirt.io/kvm"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			const network = settings.Prefix + "network: auto\n"
			text := strings.Replace(read(t, objects(t, "lb-ip")), network, network+"    "+c.annotation+"\n", 1)
			stdout, _, code := oooiPlan(t, strings.Replace(text, node, c.node, 1)+c.more, "-f", "-")
			g.Expect(code).To(BeZero(), stdout)
			if c.want == "" {
				g.Expect(stdout).NotTo(ContainSubstring("NodesNotJoining"))
				return
			}
			g.Expect(stdout).To(And(ContainSubstring(": nodes may not become Ready."), ContainSubstring("No node may run VMs of NodePool blue: "+c.want+".")))
		})
	}
}

// TestNoNodeHasWhatVMsNeed: nodes must have the architecture of the image of VMs, their memory and their host devices. What a Node does not report is not judged.
func TestNoNodeHasWhatVMsNeed(t *testing.T) {
	const memory, kubevirt = "        memory: 4Gi\n", "    kubevirt:\n      additionalNetworks:"
	reports := func(arch, allocatable string) string {
		return "  labels: {kubernetes.io/arch: " + arch + "}\nstatus:\n  allocatable: {" + allocatable + "}\n"
	}
	host := strings.Replace(kubevirt, "      additional", "      hostDevices: [{deviceName: nvidia.com/A100, count: 2}]\n      additional", 1)
	for name, c := range map[string]struct{ old, new, node, want string }{
		"what they need":                 {memory, memory, reports("amd64", "memory: 4Gi"), ""},
		"too little memory":              {memory, memory, reports("amd64", "memory: 3Gi"), "1 offer too little memory"},
		"memory that a patch may change": {"    hostedcluster.densityops.com/network: auto\n", "    hostedcluster.densityops.com/network: auto\n    hypershift.openshift.io/kubevirt-vm-jsonpatch: '[{\"op\": \"replace\", \"path\": \"/spec/template/spec/domain/memory/guest\", \"value\": \"2Gi\"}]'\n", reports("amd64", "memory: 3Gi"), ""},
		"no memory reported":             {memory, memory, reports("amd64", "cpu: 4"), ""},
		"another architecture":           {memory, memory, reports("arm64", "memory: 8Gi"), "1 have architecture arm64"},
		"the image has none of the node": {"  arch: amd64\n", "  arch: arm64\n", reports("arm64", "memory: 8Gi"), "1 have architecture arm64"},
		"the other one":                  {"  arch: amd64\n", "  arch: s390x\n", reports("s390x", "memory: 8Gi"), ""},
		"not the other one":              {"  arch: amd64\n", "  arch: s390x\n", reports("amd64", "memory: 8Gi"), "1 have architecture amd64"},
		"an image of the user":           {"        persistent:\n", "        diskImage: {containerDiskImage: quay.io/team/disk:1}\n        persistent:\n", reports("arm64", "memory: 8Gi"), ""},
		"no host device":                 {kubevirt, host, reports("amd64", "memory: 8Gi"), "1 offer no nvidia.com/A100"},
		"too few host devices":           {kubevirt, host, reports("amd64", "memory: 8Gi, nvidia.com/A100: 1"), "1 offer too little nvidia.com/A100"},
		"host devices":                   {kubevirt, host, reports("amd64", "memory: 8Gi, nvidia.com/A100: 2"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := read(t, objects(t, "lb-ip"))
			g.Expect(text).To(ContainSubstring(c.old))
			text = strings.Replace(strings.Replace(text, c.old, c.new, 1), "  labels: {kubernetes.io/hostname: node1}\nstatus:\n", c.node, 1)
			stdout, _, code := oooiPlan(t, text, "-f", "-")
			g.Expect(code).To(BeZero(), stdout)
			if c.want == "" {
				g.Expect(stdout).NotTo(ContainSubstring("NodesNotJoining"))
				return
			}
			g.Expect(stdout).To(And(ContainSubstring(": nodes may not become Ready."), ContainSubstring("No node may run VMs of NodePool blue: "+c.want+".")))
		})
	}
}
