package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestRemovalAfter: what follows from a lost annotation, the VMs, the stored deadline and the time.
func TestRemovalAfter(t *testing.T) {
	stored := func(text string) func(*gather.World) {
		return func(w *gather.World) {
			o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: wire.PlanConfigMap, Annotations: map[string]string{decide.RemovalAnnotation: text}}}
			o.SetGroupVersionKind(own.ConfigMapKind)
			w.Owned = append(w.Owned, o)
		}
	}
	at := func(d time.Duration) string { return testNow.Add(d).UTC().Format(time.RFC3339) }
	deleted := metav1.NewTime(testNow)
	for name, c := range map[string]struct {
		change   func(*gather.World)
		want     decide.Action
		deadline time.Duration
		// stores: the deadline is written.
		stores bool
	}{
		"lost now":                          {func(*gather.World) {}, decide.Keep, 10 * time.Minute, true},
		"lost before":                       {stored(at(3 * time.Minute)), decide.Keep, 3 * time.Minute, false},
		"the time has come":                 {stored(at(0)), decide.Remove, 0, false},
		"the operator was away meanwhile":   {stored(at(-time.Hour)), decide.Keep, 10 * time.Minute, true},
		"it was away for a moment":          {stored(at(-30 * time.Second)), decide.Remove, 0, false},
		"it was away, and had begun before": {func(w *gather.World) { stored(at(-time.Hour))(w); w.Edges = nil }, decide.Remove, 0, false},
		"it is late":                        {func(w *gather.World) { stored(at(-time.Hour))(w); w.Loss = gather.LossAnnounced }, decide.Remove, 0, false},
		"the annotation was back meanwhile": {func(w *gather.World) { stored(at(-time.Minute))(w); w.Loss = gather.LossNone }, decide.Keep, 10 * time.Minute, true},
		"it was back just now":              {func(w *gather.World) { stored(at(time.Minute))(w); w.Loss = gather.LossNone }, decide.Keep, 10 * time.Minute, true},
		"the removal has begun":             {func(w *gather.World) { w.Loss = gather.LossRemoving }, decide.Remove, 0, false},
		"a deadline that others set":        {stored(at(time.Hour)), decide.Keep, 10 * time.Minute, true},
		"a deadline that cannot be read":    {stored("soon"), decide.Keep, 10 * time.Minute, true},
		"no VM":                             {func(w *gather.World) { w.VMs = nil }, decide.Remove, 0, false},
		"no VM, and a deadline":             {func(w *gather.World) { stored(at(time.Minute))(w); w.VMs = nil }, decide.Remove, 0, false},
		"VMs cannot be listed":              {func(w *gather.World) { w.VMs, w.VMsUnread = nil, errors.New("forbidden") }, decide.Keep, 10 * time.Minute, true},
		"VMs on another network":            {func(w *gather.World) { w.VMs[0].Spec.Networks[0].Multus.NetworkName = "clusters/other" }, decide.Remove, 0, false},
		"VMs by another NAD of the network": {func(w *gather.World) {
			byAnotherNAD(w)
			w.VMs[0].Spec.Networks[0].Multus.NetworkName = "clusters/other"
		}, decide.Keep, 10 * time.Minute, true},
		"nothing is served":                  {func(w *gather.World) { w.Last, w.Edges = network.Plan{}, nil }, decide.Remove, 0, false},
		"network: none":                      {func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"network"] = "none" }, decide.Remove, 0, false},
		"the control plane is being removed": {func(w *gather.World) { w.ControlPlane.DeletionTimestamp = &deleted }, decide.Remove, 0, false},
		"put back": {func(w *gather.World) {
			stored(at(0))(w)
			w.HostedCluster.Annotations[settings.Prefix+"network"] = "auto"
		}, decide.Serve, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
			w.VMs = nil
			putVM(&w, plan.Networks[0])
			delete(w.HostedCluster.Annotations, settings.Prefix+"network")
			c.change(&w)
			d := decide.About(w, testOptions.Release, testNow)
			g.Expect(d.Action.String()).To(Equal(c.want.String()), "%v", d.Problems)
			if c.want != decide.Keep {
				return
			}
			g.Expect(d.Again).To(BeNumerically("~", c.deadline, time.Second))
			g.Expect(d.Plan).To(Equal(plan))
			g.Expect(d.Desired).To(HaveLen(map[bool]int{true: 1}[c.stores]))
			for _, u := range d.Desired {
				g.Expect(u.GetKind()).To(Equal("ConfigMap"))
				g.Expect(u.GetAnnotations()).To(HaveKeyWithValue(decide.RemovalAnnotation, at(c.deadline)))
			}
			said := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Condition
			g.Expect(said.Message).To(And(ContainSubstring("Warning RemovalScheduled"), ContainSubstring(at(c.deadline))))
		})
	}
}

// byAnotherNAD adds a NAD of the same layer-2 network as each that exists.
func byAnotherNAD(w *gather.World) {
	for _, n := range w.NetworkAttachmentDefinitions {
		n.Namespace, n.Name = "clusters", "other"
		w.NetworkAttachmentDefinitions = append(w.NetworkAttachmentDefinitions, n)
	}
}

// TestRemovalWithoutAPlan: which networks VMs use is unknown, so nothing is removed while there are VMs.
func TestRemovalWithoutAPlan(t *testing.T) {
	unreadable := problem.Problems{problem.New(problem.PlanUnreadable, problem.Subject{}, problem.Args{"namespace": {"x"}, "error": {"y"}})}
	for name, c := range map[string]struct {
		change func(*gather.World)
		want   decide.Action
	}{
		"the plan is unreadable":   {func(w *gather.World) { w.Unread = unreadable }, decide.Keep},
		"it is missing":            {func(*gather.World) {}, decide.Keep},
		"and VMs cannot be listed": {func(w *gather.World) { w.VMs, w.VMsUnread = nil, errors.New("forbidden") }, decide.Keep},
		"unreadable, and no VM":    {func(w *gather.World) { w.VMs, w.Unread = nil, unreadable }, decide.Remove},
		"missing, and edges are being deleted": {func(w *gather.World) {
			w.Edges[0].Live.DeletionTimestamp, w.Edges = &metav1.Time{Time: testNow}, w.Edges[:1]
		}, decide.Remove},
		"missing, and network: none":         {func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"network"] = "none" }, decide.Remove},
		"missing, and the removal has begun": {func(w *gather.World) { w.Loss = gather.LossRemoving }, decide.Remove},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
			w.VMs, w.Last = nil, network.Plan{}
			putVM(&w, plan.Networks[0])
			delete(w.HostedCluster.Annotations, settings.Prefix+"network")
			c.change(&w)
			d := decide.About(w, testOptions.Release, testNow)
			g.Expect(d.Action.String()).To(Equal(c.want.String()))
			if c.want != decide.Keep {
				return
			}
			g.Expect(d.Desired).To(BeEmpty(), "the plan is not replaced by an empty one")
			said := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Condition
			g.Expect(said.Reason).To(Equal(string(problem.NotApplied)))
			g.Expect(said.Message).To(ContainSubstring("is missing on the HostedCluster"))
		})
	}
}

// TestPausedTellsTheTruth: about the edges that exist, whatever the annotations ask for.
func TestPausedTellsTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gather.World)
		reason string
		ready  metav1.ConditionStatus
		words  string
	}{
		"both serve": {func(*gather.World) {}, "Ready", metav1.ConditionTrue, "Info Paused: The operator is paused for this cluster (see paused)"},
		"one was deleted": {func(w *gather.World) {
			w.Edges = slices.DeleteFunc(w.Edges, func(e gather.Edge) bool { return strings.HasSuffix(e.Name, "-2") })
		}, "ReadyWithWarnings", metav1.ConditionTrue, "does not exist"},
		"all were deleted":       {func(w *gather.World) { w.Edges = nil }, "EdgeNotReady", metav1.ConditionFalse, "has no edge"},
		"nothing was served":     {func(w *gather.World) { w.Edges, w.Last = nil, network.Plan{} }, "Paused", metav1.ConditionFalse, "Nothing is applied: the cluster is paused."},
		"the annotation is lost": {func(w *gather.World) { delete(w.HostedCluster.Annotations, settings.Prefix+"network") }, "Ready", metav1.ConditionTrue, "Info Paused"},
		"wrong annotations":      {func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "x" }, "Ready", metav1.ConditionTrue, "Info Paused"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			w.Binding = &metav1.PartialObjectMetadata{}
			w.HostedCluster.Annotations[settings.Prefix+"paused"] = "true"
			c.change(&w)
			d := decide.About(w, testOptions.Release, testNow)
			g.Expect(d.Action).To(Equal(decide.Keep))
			g.Expect(d.Desired).To(BeEmpty())
			said := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Condition
			g.Expect(said.Message).To(ContainSubstring(c.words))
			g.Expect(said.Reason).To(Equal(c.reason), said.Message)
			g.Expect(said.Status).To(Equal(c.ready))
		})
	}
}
