package controllers

import (
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
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
		change  func(*network.Plan)
		edited  bool
		want    []rollout.Action
		cause   problem.Cause
	}{
		"its turn is later":       {waves.Turn{Wave: 2}, newer, nil, false, []rollout.Action{rollout.Hold, rollout.Hold}, problem.UpdateWaits},
		"the update is stopped":   {waves.Turn{Wave: 2, Stopped: true}, newer, nil, false, []rollout.Action{rollout.Hold, rollout.Hold}, problem.UpdateStopped},
		"it is its turn":          {waves.Turn{Now: true}, newer, nil, false, []rollout.Action{rollout.Hold, rollout.Recreate}, ""},
		"the release is the same": {waves.Turn{}, testOptions, nil, false, []rollout.Action{rollout.Apply, rollout.Apply}, ""},
		"the plan needs other addresses on one of two networks": {waves.Turn{Wave: 1}, newer, func(p *network.Plan) {
			p.Networks[0].ServiceVIP = p.Networks[0].ServiceVIP.Next().Next().Next().Next().Next()
		}, false, []rollout.Action{rollout.Hold, rollout.Recreate}, problem.UpdateWaits},
		"the plan needs other routes": {waves.Turn{Wave: 1}, newer, func(p *network.Plan) {
			p.Networks[0].ClientNetworks = []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}
		}, false, []rollout.Action{rollout.Hold, rollout.Recreate}, problem.UpdateWaits},
		"only the pod of this cluster changes": {waves.Turn{}, testOptions, nil, true, []rollout.Action{rollout.Hold, rollout.Recreate}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
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
				c.change(&plan)
			}
			all := decide.View{World: w}.Roll(plan, c.options.Release, testNow)
			var got []rollout.Action
			for _, s := range all[0].Steps {
				got = append(got, s.Action)
			}
			g.Expect(got).To(Equal(c.want))
			problems := decide.View{World: w}.UpdatePending(all)
			if c.cause == "" {
				g.Expect(problems).To(BeEmpty())
				return
			}
			g.Expect(problems).To(HaveLen(1))
			g.Expect(problems[0].Cause).To(Equal(c.cause))
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
		leftOut  network.Service
		want     []rollout.Action
		postpone bool
	}{
		"it is its turn":        {waves.Turn{Now: true}, nil, "", []rollout.Action{rollout.Hold, rollout.Recreate}, false},
		"NTP is new":            {waves.Turn{Wave: 2}, []string{"ntp"}, "", []rollout.Action{rollout.Hold, rollout.Recreate}, false},
		"NTP is left out now":   {waves.Turn{Wave: 2}, nil, network.ServiceNTP, []rollout.Action{rollout.Hold, rollout.Recreate}, false},
		"the servers are equal": {waves.Turn{Wave: 2}, nil, "", []rollout.Action{rollout.Hold, rollout.Hold}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
			for _, e := range w.Edges {
				setEdge(&w, e.Name, func(d appsv1.Deployment) appsv1.Deployment {
					d.Spec.Template.Spec.Containers = slices.DeleteFunc(slices.Clone(d.Spec.Template.Spec.Containers), is(c.lack...))
					return d
				})
			}
			services := slices.DeleteFunc(slices.Clone(plan.Networks[0].Services), func(s network.Service) bool { return s == c.leftOut })
			plan.Networks = slices.Clone(plan.Networks)
			plan.Networks[0].Services = services
			w.Turn = c.turn
			all := decide.View{World: w}.Roll(plan, newer.Release, testNow)
			var got []rollout.Action
			for _, s := range all[0].Steps {
				got = append(got, s.Action)
			}
			g.Expect(got).To(Equal(c.want))
			g.Expect(all[0].Postponed).To(Equal(c.postpone))
		})
	}
}
