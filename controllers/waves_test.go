package controllers

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// TestANewReleaseWaitsForItsWave: edges of a previous release stay until it is their cluster's
// turn, unless the plan needs other addresses. The condition says so.
func TestANewReleaseWaitsForItsWave(t *testing.T) {
	newer := testOptions
	newer.Image = "registry.example.com/oooi-edge:v2"
	for name, c := range map[string]struct {
		turn    waves.Turn
		options Options
		change  func(*gather.World)
		edited  bool
		want    []rollout.Action
		cause   problem.Cause
	}{
		"its turn is later":       {waves.Turn{Wave: 2}, newer, nil, false, []rollout.Action{rollout.Hold, rollout.Hold}, problem.UpdateWaits},
		"the update is stopped":   {waves.Turn{Wave: 2, Stopped: true}, newer, nil, false, []rollout.Action{rollout.Hold, rollout.Hold}, problem.UpdateStopped},
		"it is its turn":          {waves.Turn{Now: true}, newer, nil, false, []rollout.Action{rollout.Hold, rollout.Recreate}, ""},
		"the release is the same": {waves.Turn{}, testOptions, nil, false, []rollout.Action{rollout.Apply, rollout.Apply}, ""},
		"the plan needs other addresses on one of two networks": {waves.Turn{Wave: 1}, newer, func(w *gather.World) {
			w.HostedCluster.Annotations = annotated(*w, "edge-addresses", "192.168.100.6-192.168.100.9")
		}, false, []rollout.Action{rollout.Hold, rollout.Recreate}, problem.UpdateWaits},
		"the plan needs other routes": {waves.Turn{Wave: 1}, newer, func(w *gather.World) {
			nad := &w.NetworkAttachmentDefinitions[0].ObjectMeta
			metav1.SetMetaDataAnnotation(nad, settings.Prefix+"gateway", "192.168.100.1")
			metav1.SetMetaDataAnnotation(nad, settings.Prefix+"client-networks", "10.9.0.0/16")
		}, false, []rollout.Action{rollout.Hold, rollout.Recreate}, problem.UpdateWaits},
		"only the pod of this cluster changes": {waves.Turn{}, testOptions, nil, true, []rollout.Action{rollout.Hold, rollout.Recreate}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			w.VMs = nil
			if c.edited {
				for _, e := range w.Edges {
					setEdge(&w, e.Name, func(d appsv1.Deployment) appsv1.Deployment {
						d.Annotations = map[string]string{wire.AnnotationTemplate: "older", wire.AnnotationRelease: testOptions.Release.Hash()}
						return d
					})
				}
			}
			w.Turn = c.turn
			if c.change != nil {
				c.change(&w)
			}
			d := decide.About(w, c.options.Release, testNow)
			g.Expect(actions(d.Rollouts)).To(Equal(c.want))
			var cause problem.Cause
			for _, p := range d.Problems {
				if p.Reason == problem.UpdatePending {
					cause = p.Cause
				}
			}
			g.Expect(cause).To(Equal(c.cause))
		})
	}
}

// TestServersDoNotWaitForTheWave: edges of a previous release wait for their turn. A server that the user adds or leaves out
// does not.
func TestServersDoNotWaitForTheWave(t *testing.T) {
	newer := testOptions
	newer.Image = "registry.example.com/oooi-edge:v2"
	is := func(names ...string) func(corev1.Container) bool {
		return func(c corev1.Container) bool { return slices.Contains(names, c.Name) }
	}
	for name, c := range map[string]struct {
		turn     waves.Turn
		lack     []string
		services string
		want     []rollout.Action
		postpone bool
	}{
		"it is its turn":        {waves.Turn{Now: true}, nil, "", []rollout.Action{rollout.Hold, rollout.Recreate}, false},
		"NTP is new":            {waves.Turn{Wave: 2}, []string{"ntp"}, "", []rollout.Action{rollout.Hold, rollout.Recreate}, false},
		"NTP is left out now":   {waves.Turn{Wave: 2}, nil, "dhcp,dns,proxy", []rollout.Action{rollout.Hold, rollout.Recreate}, false},
		"the servers are equal": {waves.Turn{Wave: 2}, nil, "", []rollout.Action{rollout.Hold, rollout.Hold}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			for _, e := range w.Edges {
				setEdge(&w, e.Name, func(d appsv1.Deployment) appsv1.Deployment {
					d.Spec.Template.Spec.Containers = slices.DeleteFunc(slices.Clone(d.Spec.Template.Spec.Containers), is(c.lack...))
					return d
				})
			}
			if c.services != "" {
				w.HostedCluster.Annotations = annotated(w, "services", c.services)
			}
			w.Turn = c.turn
			all := decide.About(w, newer.Release, testNow).Rollouts
			g.Expect(actions(all)).To(Equal(c.want))
			g.Expect(all[0].Postponed).To(Equal(c.postpone))
		})
	}
}
