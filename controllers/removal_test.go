package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// TestRemovalAfter: what follows from a lost annotation, the VMs, the stored deadline and the time.
func TestRemovalAfter(t *testing.T) {
	stored := func(text string) func(*world) {
		return func(w *world) {
			o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: wire.PlanConfigMap, Annotations: map[string]string{removalAnnotation: text}}}
			o.SetGroupVersionKind(configMapKind)
			w.owned = append(w.owned, o)
		}
	}
	at := func(d time.Duration) string { return testNow.Add(d).UTC().Format(time.RFC3339) }
	deleted := metav1.NewTime(testNow)
	for name, c := range map[string]struct {
		change   func(*world)
		want     action
		deadline time.Duration
		// stores: the deadline is written.
		stores bool
	}{
		"lost now":                           {func(*world) {}, keep, removalDelay, true},
		"lost before":                        {stored(at(3 * time.Minute)), keep, 3 * time.Minute, false},
		"the time has come":                  {stored(at(0)), remove, 0, false},
		"the operator was away meanwhile":    {stored(at(-time.Hour)), keep, removalDelay, true},
		"it was away for a moment":           {stored(at(-removalGrace / 2)), remove, 0, false},
		"it was away, and had begun before":  {func(w *world) { stored(at(-time.Hour))(w); w.edges = nil }, remove, 0, false},
		"it is late":                         {func(w *world) { stored(at(-time.Hour))(w); w.loss = lossAnnounced }, remove, 0, false},
		"the annotation was back meanwhile":  {func(w *world) { stored(at(-time.Minute))(w); w.loss = lossNone }, keep, removalDelay, true},
		"it was back just now":               {func(w *world) { stored(at(time.Minute))(w); w.loss = lossNone }, keep, removalDelay, true},
		"the removal has begun":              {func(w *world) { w.loss = lossRemoving }, remove, 0, false},
		"a deadline that others set":         {stored(at(time.Hour)), keep, removalDelay, true},
		"a deadline that cannot be read":     {stored("soon"), keep, removalDelay, true},
		"no VM":                              {func(w *world) { w.VMs = nil }, remove, 0, false},
		"no VM, and a deadline":              {func(w *world) { stored(at(time.Minute))(w); w.VMs = nil }, remove, 0, false},
		"VMs cannot be listed":               {func(w *world) { w.VMs, w.vmsUnread = nil, errors.New("forbidden") }, keep, removalDelay, true},
		"VMs on another network":             {func(w *world) { w.VMs[0].Spec.Networks[0].Multus.NetworkName = "clusters/other" }, remove, 0, false},
		"VMs by another NAD of the network":  {func(w *world) { w.byAnotherNAD(); w.VMs[0].Spec.Networks[0].Multus.NetworkName = "clusters/other" }, keep, removalDelay, true},
		"nothing is served":                  {func(w *world) { w.last, w.edges = network.Plan{}, nil }, remove, 0, false},
		"network: none":                      {func(w *world) { w.HostedCluster.Annotations[settings.Prefix+"network"] = "none" }, remove, 0, false},
		"the control plane is being removed": {func(w *world) { w.controlPlane.DeletionTimestamp = &deleted }, remove, 0, false},
		"put back":                           {func(w *world) { stored(at(0))(w); w.HostedCluster.Annotations[settings.Prefix+"network"] = "auto" }, serve, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
			w.VMs = nil
			w.machineOn(plan.Networks[0])
			delete(w.HostedCluster.Annotations, settings.Prefix+"network")
			c.change(&w)
			d := decide(w, testOptions, testNow)
			g.Expect(d.action.String()).To(Equal(c.want.String()), "%v", d.problems)
			if c.want != keep {
				return
			}
			g.Expect(d.again).To(BeNumerically("~", c.deadline, time.Second))
			g.Expect(d.plan).To(Equal(plan))
			g.Expect(d.desired).To(HaveLen(map[bool]int{true: 1}[c.stores]))
			for _, u := range d.desired {
				g.Expect(u.GetKind()).To(Equal("ConfigMap"))
				g.Expect(u.GetAnnotations()).To(HaveKeyWithValue(removalAnnotation, at(c.deadline)))
			}
			said, ok := condition(w, d, verdictOf(w, d, outcome{edges: w.edges}), testNow)
			g.Expect(ok).To(BeTrue())
			g.Expect(said.Message).To(And(ContainSubstring("Warning RemovalScheduled"), ContainSubstring(at(c.deadline))))
		})
	}
}

// byAnotherNAD adds a NAD of the same layer-2 network as each that exists.
func (w *world) byAnotherNAD() {
	for _, n := range w.NetworkAttachmentDefinitions {
		n.Namespace, n.Name = "clusters", "other"
		w.NetworkAttachmentDefinitions = append(w.NetworkAttachmentDefinitions, n)
	}
}

// TestRemovalWithoutAPlan: which networks VMs use is unknown, so nothing is removed while there are VMs.
func TestRemovalWithoutAPlan(t *testing.T) {
	unreadable := network.Problems{network.NewProblem(network.PlanUnreadable, network.Subject{}, network.Args{"namespace": "x", "error": "y"})}
	for name, c := range map[string]struct {
		change func(*world)
		want   action
	}{
		"the plan is unreadable":               {func(w *world) { w.unread = unreadable }, keep},
		"it is missing":                        {func(*world) {}, keep},
		"and VMs cannot be listed":             {func(w *world) { w.VMs, w.vmsUnread = nil, errors.New("forbidden") }, keep},
		"unreadable, and no VM":                {func(w *world) { w.VMs, w.unread = nil, unreadable }, remove},
		"missing, and edges are being deleted": {func(w *world) { w.edges[0].live.DeletionTimestamp, w.edges = &metav1.Time{Time: testNow}, w.edges[:1] }, remove},
		"missing, and network: none":           {func(w *world) { w.HostedCluster.Annotations[settings.Prefix+"network"] = "none" }, remove},
		"missing, and the removal has begun":   {func(w *world) { w.loss = lossRemoving }, remove},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
			w.VMs, w.last = nil, network.Plan{}
			w.machineOn(plan.Networks[0])
			delete(w.HostedCluster.Annotations, settings.Prefix+"network")
			c.change(&w)
			d := decide(w, testOptions, testNow)
			g.Expect(d.action.String()).To(Equal(c.want.String()))
			if c.want != keep {
				return
			}
			g.Expect(d.desired).To(BeEmpty(), "the plan is not replaced by an empty one")
			said, _ := condition(w, d, verdictOf(w, d, outcome{edges: w.edges}), testNow)
			g.Expect(said.Reason).To(Equal(string(network.NotApplied)))
			g.Expect(said.Message).To(ContainSubstring("is missing on the HostedCluster"))
		})
	}
}

// TestPausedTellsTheTruth: about the edges that exist, whatever the annotations ask for.
func TestPausedTellsTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		reason string
		ready  metav1.ConditionStatus
		words  string
	}{
		"both serve": {func(*world) {}, "Ready", metav1.ConditionTrue, "Info Paused: The operator is paused for this cluster (see paused)"},
		"one was deleted": {func(w *world) {
			w.edges = slices.DeleteFunc(w.edges, func(e Edge) bool { return strings.HasSuffix(e.Name, "-2") })
		}, "ReadyWithWarnings", metav1.ConditionTrue, "does not exist"},
		"all were deleted":       {func(w *world) { w.edges = nil }, "EdgeNotReady", metav1.ConditionFalse, "has no edge"},
		"nothing was served":     {func(w *world) { w.edges, w.last = nil, network.Plan{} }, "Paused", metav1.ConditionFalse, "Nothing is applied: the cluster is paused."},
		"the annotation is lost": {func(w *world) { delete(w.HostedCluster.Annotations, settings.Prefix+"network") }, "Ready", metav1.ConditionTrue, "Info Paused"},
		"wrong annotations":      {func(w *world) { w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "x" }, "Ready", metav1.ConditionTrue, "Info Paused"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			w.binding = &metav1.PartialObjectMetadata{}
			w.HostedCluster.Annotations[settings.Prefix+"paused"] = "true"
			c.change(&w)
			d := decide(w, testOptions, testNow)
			g.Expect(d.action).To(Equal(keep))
			g.Expect(d.desired).To(BeEmpty())
			said, _ := condition(w, d, verdictOf(w, d, outcome{edges: w.edges}), testNow)
			g.Expect(said.Message).To(ContainSubstring(c.words))
			g.Expect(said.Reason).To(Equal(c.reason), said.Message)
			g.Expect(said.Status).To(Equal(c.ready))
		})
	}
}
