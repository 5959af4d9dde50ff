package controllers

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
)

// A clock runs ahead of the time by what is added.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time      { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) add(d time.Duration) { c.ahead.Add(int64(d)) }

// runs plays the Deployments' controller: the pods of h's edges have their new template, and are
// ready since at, or fail by it.
func (h hosted) runs(t *testing.T, fail bool, at time.Time) {
	t.Helper()
	for _, d := range h.deployments(t, "vlan100") {
		before := d.DeepCopy()
		if gather.RoleOf(d) != gather.RoleEdge || !apiserver.Serve(&d) {
			continue
		}
		up, why := corev1.ConditionTrue, "NewReplicaSetAvailable"
		if fail {
			up, why, d.Status.AvailableReplicas = corev1.ConditionFalse, "ProgressDeadlineExceeded", 0
		}
		d.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: up, Reason: why, LastTransitionTime: metav1.NewTime(at), LastUpdateTime: metav1.NewTime(at)},
			{Type: appsv1.DeploymentProgressing, Status: up, Reason: why, LastTransitionTime: metav1.NewTime(at), LastUpdateTime: metav1.NewTime(at.Add(10 * time.Minute))},
		}
		NewWithT(t).Expect(h.admin.Status().Patch(t.Context(), &d, client.MergeFrom(before))).To(Succeed())
	}
}

// updated are the clusters with an edge of this image, by their names.
func updated(t *testing.T, image string, all ...hosted) (names []string) {
	t.Helper()
	for _, h := range all {
		for _, d := range h.deployments(t, "vlan100") {
			if d.Labels[wire.LabelName] == wire.NameEdge && d.Spec.Template.Spec.Containers[0].Image == image {
				names = append(names, h.key.Name)
				break
			}
		}
	}
	return names
}

// testWaves: an operator of a new release recreates the edges of one hosted cluster at a time, while those of
// one fail. A second failure stops the update, until a failing cluster is paused.
func testWaves(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	_, _, stop := s.runAs(t, testOptions, time.Now)
	byName := map[string]hosted{}
	var all []hosted
	for _, name := range []string{"wave1", "wave2", "wave3", "wave4"} {
		h := s.served(t, name)
		byName[name], all = h, append(all, h)
	}
	stop()

	newer, ahead := testOptions, &clock{}
	newer.Image = "registry.example.com/oooi-edge:v2"
	ahead.add(10 * time.Minute) // An edge that was never available proves nothing of a release.
	_, registry, stop := s.runAs(t, newer, ahead.now)
	defer stop()
	var order []string
	changed := func() int {
		for _, name := range updated(t, newer.Image, all...) {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
		return len(order)
	}
	counts := func(state string) func() float64 {
		return func() float64 { return gauges(t, registry, "oooi_update_clusters")[state] }
	}
	g.Eventually(changed).Should(Equal(1))
	g.Eventually(func() string {
		var waiting string
		for _, h := range all {
			if !slices.Contains(order, h.key.Name) {
				waiting = h.says(t)()
			}
		}
		return waiting
	}).Should(ContainSubstring("Info UpdatePending"))

	byName[order[0]].runs(t, true, ahead.now())
	g.Eventually(counts("failed")).Should(BeEquivalentTo(1))
	g.Eventually(changed).Should(Equal(2), "it may be the cluster's own fault")
	byName[order[1]].runs(t, true, ahead.now())
	g.Eventually(counts("failed")).Should(BeEquivalentTo(2))
	for _, h := range all {
		if !slices.Contains(order, h.key.Name) {
			g.Eventually(h.says(t)).Should(And(HavePrefix("ReadyWithWarnings"), ContainSubstring("The update is stopped")))
		}
	}
	ahead.add(time.Hour)
	g.Consistently(changed).WithTimeout(4*testIntervals.waves).Should(Equal(2), "two clusters fail with the release")

	byName[order[0]].annotate(t, "paused", "true")
	g.Eventually(changed).Should(Equal(3), "one fails, so the update goes on slowly")
	play := func() int {
		for _, name := range order[2:] {
			byName[name].runs(t, false, ahead.now())
		}
		return changed()
	}
	g.Consistently(play).WithTimeout(4*testIntervals.waves).Should(Equal(3), "the release is not proven yet")
	ahead.add(3 * time.Minute)
	g.Eventually(play).Should(Equal(4))
	g.Eventually(func() float64 { play(); ahead.add(time.Minute); return counts("updated")() }).Should(BeEquivalentTo(2))
	for _, name := range order[2:] {
		g.Eventually(byName[name].says(t)).ShouldNot(ContainSubstring(string(problem.UpdatePending)))
	}
}
