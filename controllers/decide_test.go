package controllers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// putVM is a machine on a network of w, by its definition.
func putVM(w *gather.World, n network.Network) {
	m := lenient.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: hcp.ControlPlaneNamespace(w.HostedCluster), Name: "on-" + n.Attachment.Name}}
	m.Spec.Networks = []lenient.VMNetwork{{Name: "iface1", Multus: &lenient.VMMultus{NetworkName: n.Attachment.String()}}}
	w.VMs = append(w.VMs, m)
}

// annotated are w's annotations with another annotation of oooi.
func annotated(w gather.World, key, value string) map[string]string {
	out := maps.Clone(w.HostedCluster.Annotations)
	out[settings.Prefix+key] = value
	return out
}

// TestDeletedNodePoolMovesNobody: the network of the second NodePool does not
// take what was said for the first one's when that goes.
func TestDeletedNodePoolMovesNobody(t *testing.T) {
	w, plan := served(t, "two-vlans")
	for _, n := range plan.Networks {
		putVM(&w, n)
	}
	w.Last = plan
	for _, gone := range w.NodePools {
		t.Run(gone.Name, func(t *testing.T) {
			g := NewWithT(t)
			w := w
			w.NodePools = slices.DeleteFunc(slices.Clone(w.NodePools), func(np hyperv1.NodePool) bool { return np.Name == gone.Name })
			d := decide.About(w, testOptions.Release, testNow)
			g.Expect(d.Action).To(Equal(decide.Serve), "%v", d.Problems)
			g.Expect(d.Plan.Networks).To(HaveLen(len(plan.Networks)))
			for i, n := range d.Plan.Networks {
				was := plan.Networks[i]
				g.Expect([]any{n.Name, n.CIDR, n.NextHopVIP, n.ServiceVIP, n.Edges}).To(Equal([]any{was.Name, was.CIDR, was.NextHopVIP, was.ServiceVIP, was.Edges}))
			}
		})
	}
}

// TestAnnotationWhileMachinesRun: it waits for the machines, and says so.
func TestAnnotationWhileMachinesRun(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	w.Last = plan
	w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "192.168.77.0/24"
	machines := w.VMs
	w.VMs = nil
	g.Expect(decide.About(w, testOptions.Release, testNow).Plan.Networks[0].CIDR.String()).To(Equal("192.168.77.0/24"), "no VM is on it")
	w.VMs = machines
	putVM(&w, plan.Networks[0])
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Action).To(Equal(decide.Serve))
	g.Expect(d.Plan.Networks[0].CIDR).To(Equal(plan.Networks[0].CIDR))
	g.Expect(d.Problems).To(ContainElement(And(HaveField("Reason", problem.AddressConflict), WithTransform(message, ContainSubstring("192.168.77.0/24")))))
}

// TestPlanTooLarge: it is refused in words before the API server does.
func TestPlanTooLarge(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "192.168.0.0/16"
	w.Last = decide.About(w, testOptions.Release, testNow).Plan
	var all strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&all, "02:00:00:00:%02x:%02x=192.168.%d.%d,", i>>8, i&255, 128+i>>8, i&255)
	}
	w.HostedCluster.Annotations[settings.Prefix+"reservations"] = strings.TrimSuffix(all.String(), ",")
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Problems).To(ContainElement(And(HaveField("Reason", problem.NotApplied), WithTransform(message, ContainSubstring("ConfigMap")))))
	g.Expect(d.Action).To(Equal(decide.Leave))
}

// testUnreadablePlan: an unreadable plan is a problem, and not the same as no plan.
func testUnreadablePlan(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "unread")
	cm := &corev1.ConfigMap{}
	g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.PlanConfigMap}, cm)).To(Succeed())
	good := cm.Data[wire.PlanKey]
	put := func(text string) {
		patch, err := json.Marshal(map[string]any{"data": map[string]any{wire.PlanKey: text}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.admin.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	}
	// Until no reconcile that read the valid plan writes it again.
	g.Eventually(func(g Gomega) {
		put(good[:len(good)/2])
		before := h.snapshot(t)
		again(t, r, h)
		g.Expect(h.says(t)()).To(And(HavePrefix(string(problem.NotApplied)), ContainSubstring("ConfigMap oooi-plan"), ContainSubstring(h.ns)))
		g.Expect(h.snapshot(t)).To(Equal(before))
	}).Should(Succeed())

	put(good)
	g.Eventually(h.reason(t)).Should(Equal(string(explain.ReadyWithWarnings)))
}

// TestOneMoreNodePoolRollsNoEdge: one that selects the same nodes changes
// nothing of the edge's pod, whatever its name.
func TestOneMoreNodePoolRollsNoEdge(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	rack := map[string]string{"rack": "7"}
	w.NodePools[0].Spec.Platform.Kubevirt.NodeSelector = rack
	before := edge(t, w, decide.About(w, testOptions.Release, testNow).Plan)
	g.Expect(before.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms).To(HaveLen(1))
	more := *w.NodePools[0].DeepCopy()
	more.Name = "a-second"
	w.NodePools = append(w.NodePools, more)
	g.Expect(edge(t, w, decide.About(w, testOptions.Release, testNow).Plan).Spec.Template).To(Equal(before.Spec.Template))
}
