// This file tests what follows where a user edits the NetworkAttachmentDefinition of a network that is
// served.

package controllers

import (
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/golden"
)

// editNAD replaces part of the configuration of w's first NAD.
func editNAD(w *gather.World, t *testing.T, part, by string) {
	t.Helper()
	config := &w.NetworkAttachmentDefinitions[0].Spec.Config
	if !strings.Contains(*config, part) {
		t.Fatalf("the NAD has no %s: %s", part, *config)
	}
	*config = strings.Replace(*config, part, by, 1)
}

// edgeNADOf is the configuration of the edge NAD that d applies.
func edgeNADOf(d decide.Decision) string {
	for _, u := range d.Desired {
		if u.GetName() == wire.EdgeNADName(d.Plan.Networks[0]) && u.GroupVersionKind() == own.DefinitionKind {
			config, _, _ := unstructured.NestedString(u.Object, "spec", "config")
			return config
		}
	}
	return ""
}

func actions(all []decide.Rolled) (out []rollout.Action) {
	for _, s := range all[0].Steps {
		out = append(out, s.Action)
	}
	return out
}

// TestNADEditedWhileVMsRun: edges stay on the VMs' network, also one that restarts, and the
// condition says so.
func TestNADEditedWhileVMsRun(t *testing.T) {
	g := NewWithT(t)
	w, plan := twoEdges(t)
	putVM(&w, plan.Networks[0])
	editNAD(&w, t, `"vlan":100`, `"vlan":200`)
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Action).To(Equal(decide.Serve), "%v", d.Problems)
	g.Expect(edgeNADOf(d)).To(And(ContainSubstring(`"vlan":100`), Not(ContainSubstring(`"vlan":200`))))
	g.Expect(d.Plan.JSON()).To(Equal(plan.JSON()))
	g.Expect(actions(d.Rollouts)).To(HaveEach(rollout.Apply))
	g.Expect(d.Problems).To(ContainElement(And(HaveField("Reason", problem.AddressConflict),
		HaveField("Severity", problem.SeverityWarning), WithTransform(message, And(ContainSubstring("vlan 100"), ContainSubstring("vlan 200"))))))
}

// TestNADEditedWithoutVMs: the edges are recreated on the new network, one after the other, whatever the
// wave of an update.
func TestNADEditedWithoutVMs(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	w.VMs = nil
	editNAD(&w, t, `"vlan":100`, `"vlan":200`)
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Action).To(Equal(decide.Serve), "%v", d.Problems)
	g.Expect(edgeNADOf(d)).To(ContainSubstring(`"vlan":200`))
	g.Expect(actions(d.Rollouts)).To(Equal([]rollout.Action{rollout.Hold, rollout.Recreate}))
	g.Expect(d.Problems.Has(problem.AddressConflict)).To(BeFalse())
}

// TestNADEditedHarmlessly: what edges do not take changes no pod and no problem.
func TestNADEditedHarmlessly(t *testing.T) {
	g := NewWithT(t)
	w, plan := twoEdges(t)
	before := decide.About(w, testOptions.Release, testNow)
	putVM(&w, plan.Networks[0])
	editNAD(&w, t, `"vlan":100`, `"description":"x", "vlan": 100`)
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Plan).To(Equal(plan))
	g.Expect(d.Problems).To(Equal(before.Problems))
	g.Expect(actions(d.Rollouts)).To(HaveEach(rollout.Apply))
}

// TestNADEditedDuringAnUpdate: edges move immediately, whatever wave the update is in. A release that takes
// other keys of the same NAD, or is the first that has hashes, waits for its wave.
func TestNADEditedDuringAnUpdate(t *testing.T) {
	newer := testOptions
	newer.Image = "registry.example.com/oooi-edge:v2"
	for name, c := range map[string]struct {
		live func(string) string
		want []rollout.Action
	}{
		"edited":                      {func(wanted string) string { return wanted + "0" }, []rollout.Action{rollout.Hold, rollout.Recreate}},
		"not edited":                  {func(wanted string) string { return wanted }, []rollout.Action{rollout.Hold, rollout.Hold}},
		"other keys are taken":        {func(wanted string) string { return "0" + wanted }, []rollout.Action{rollout.Hold, rollout.Hold}},
		"the former release had none": {func(string) string { return "" }, []rollout.Action{rollout.Hold, rollout.Hold}},
	} {
		t.Run(name, func(t *testing.T) {
			w, plan := twoEdges(t)
			w.Turn = waves.Turn{Wave: 1}
			for _, e := range w.Edges {
				setEdge(&w, e.Name, func(d appsv1.Deployment) appsv1.Deployment {
					d = *d.DeepCopy()
					d.Spec.Template.Annotations[wire.AnnotationNetworkConfig] = c.live(plan.Networks[0].Attachment.ConfigHash)
					return d
				})
			}
			NewWithT(t).Expect(actions(decide.About(w, newer.Release, testNow).Rollouts)).To(Equal(c.want))
		})
	}
}

// TestEdgesThatMoveAreNotPartitioned: the edge on the new network does not hear the one on the previous, which
// moves next and does not wait until the partition ends.
func TestEdgesThatMoveAreNotPartitioned(t *testing.T) {
	g := NewWithT(t)
	w, plan := twoEdges(t)
	w.VMs = nil
	editNAD(&w, t, `"vlan":100`, `"vlan":200`)
	for range 2 {
		w.EdgeReports = nil
		for number := range 2 {
			w.EdgeReports = append(w.EdgeReports, gather.NetworkReport{Network: wire.NetworkLabel(plan.Networks[0].Name), EdgeReport: reported.EdgeReport{Edge: number + 1, Peer: reported.PeerUnreachable}})
		}
		d := decide.About(w, testOptions.Release, testNow)
		g.Expect(actions(d.Rollouts)).To(ContainElement(rollout.Recreate))
		g.Expect(d.Problems.Has(problem.EdgesPartitioned)).To(BeFalse())
		w = changed(w, t, d)
		w.Last = d.Plan
		for _, e := range w.Edges {
			setEdge(&w, e.Name, running)
		}
	}
	w.EdgeReports = nil
	g.Expect(actions(decide.About(w, testOptions.Release, testNow).Rollouts)).To(HaveEach(rollout.Apply))
}

// TestOthersSeeThePinnedNetwork: while VMs pin the previous network, a hosted cluster that uses it by another NAD
// has this one as a neighbor there. One on the new network has it, too: VMs may start there.
func TestOthersSeeThePinnedNetwork(t *testing.T) {
	g := NewWithT(t)
	w, plan := twoEdges(t)
	putVM(&w, plan.Networks[0])
	w.Last = plan
	editNAD(&w, t, `"vlan":100`, `"vlan":200`)
	for _, vlan := range []string{"100", "200", "300"} {
		other := worldOf(t, golden.Find(t, "two-edges"))
		other.HostedCluster.Name = "green"
		other.NetworkAttachmentDefinitions[0].Namespace = "green"
		other.NetworkAttachmentDefinitions[0].Annotations = map[string]string{settings.Prefix + "allowed-namespaces": hcp.ControlPlaneNamespace(other.HostedCluster)}
		other.NodePools[0].Spec.ClusterName = "green"
		other.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "green/vlan100"}}
		other.VMs = nil
		editNAD(&other, t, `"vlan":100`, `"vlan":`+vlan)
		seen, meets := hcp.NewNeighbor(w.Objects, plan).For(other.Objects.HostedCluster, networks.All(other.Objects, network.Plan{}))
		g.Expect(meets).To(Equal(vlan != "300"), "VLAN %s", vlan)
		back, meets := hcp.NewNeighbor(other.Objects, network.Plan{}).For(w.Objects.HostedCluster, networks.All(w.Objects, plan))
		g.Expect(meets).To(Equal(vlan != "300"), "VLAN %s, from the other side", vlan)
		if vlan == "100" {
			g.Expect(seen.Wants.Networks[0].Attachment.Layer2).To(HaveSuffix("vlan 100"))
			g.Expect(back.On).To(ContainElement(HaveField("Layer2", HaveSuffix("vlan 100"))))
		}
	}
}

// testNADEdited: while a VM is on the network, an edit of its NAD changes no object, and the condition says
// why. Without VMs, the edges move one at a time.
func testNADEdited(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "edited")
	vm := h.used(t)
	edgeNAD := func() string {
		nad := &nadv1.NetworkAttachmentDefinition{}
		g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.EdgeNADName(h.network("vlan100"))}, nad)).To(Succeed())
		return nad.Spec.Config
	}
	before := h.snapshot(t)
	nadEdited(`"vlan": 100`, `"vlan": 200`)(t, h)
	g.Eventually(h.says(t)).Should(And(ContainSubstring("Warning AddressConflict"), ContainSubstring("vlan 200"), ContainSubstring("delete all VMs")))
	again(t, r, h)
	g.Expect(h.snapshot(t)).To(Equal(before))
	g.Expect(edgeNAD()).To(ContainSubstring(`"vlan":100`))

	g.Expect(s.admin.Delete(t.Context(), vm)).To(Succeed())
	config := func(number int) func() string {
		return func() string {
			return h.deployments(t, "vlan100")[number-1].Spec.Template.Annotations[wire.AnnotationNetworkConfig]
		}
	}
	was := config(1)()
	g.Eventually(config(2)).ShouldNot(Equal(was))
	again(t, r, h)
	g.Expect(config(1)()).To(Equal(was))
	g.Expect(edgeNAD()).To(ContainSubstring(`"vlan":200`))
	two := h.deployments(t, "vlan100")[1]
	g.Expect(h.serves(t, &two)).To(Succeed())
	g.Eventually(config(1)).Should(Equal(config(2)()))
	one := h.deployments(t, "vlan100")[0]
	g.Expect(h.serves(t, &one)).To(Succeed())
	h.wellServed(t)
	g.Expect(h.says(t)()).NotTo(ContainSubstring("vlan 200"))
}
