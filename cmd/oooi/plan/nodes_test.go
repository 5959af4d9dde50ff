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
