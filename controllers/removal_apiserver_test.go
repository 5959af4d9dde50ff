package controllers

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

// deadline is what is stored with the plan, "" where nothing is.
func (h hosted) deadline(t *testing.T) func() string {
	return func() string {
		cm := &corev1.ConfigMap{}
		if err := h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.PlanConfigMap}, cm); err != nil {
			return err.Error()
		}
		return cm.Annotations[decide.RemovalAnnotation]
	}
}

// testRemovalIsAnnouncedAgain: each loss of the annotation has ten minutes of warning, whatever the
// cluster and the operator did since the last one.
func testRemovalIsAnnouncedAgain(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	s.acceptInvalidAnnotations(t)
	ahead := &clock{}
	_, _, stop := s.runAs(t, testOptions, ahead.now)
	defer func() { stop() }()
	h := s.served(t, "again")
	h.used(t)
	// announced expects a deadline of the removal's delay after a time that is not before since. Seconds are stored.
	announced := func(since time.Time) {
		t.Helper()
		var at time.Time
		g.Eventually(func() (err error) {
			at, err = time.Parse(time.RFC3339, h.deadline(t)())
			if err == nil && at.Sub(since) < 10*time.Minute-time.Second {
				err = fmt.Errorf("the deadline %s is of before", at)
			}
			return err
		}).Should(Succeed())
		g.Expect(at).To(BeTemporally("<=", ahead.now().Add(10*time.Minute+time.Second)))
		g.Eventually(h.says(t)).Should(And(ContainSubstring(string(problem.RemovalScheduled)), ContainSubstring(h.deadline(t)())))
		g.Expect(h.deployments(t, "vlan100")).To(HaveLen(2))
	}
	since := ahead.now()
	h.annotate(t, "network", "")
	announced(since)

	h.annotate(t, "cidr", "rubbish")
	h.annotate(t, "network", "auto")
	g.Eventually(h.says(t)).Should(ContainSubstring(string(problem.AnnotationInvalid)))
	g.Eventually(h.deadline(t)).Should(BeEmpty(), "it is put away although the cluster is not served")
	ahead.add(72 * time.Hour)
	since = ahead.now()
	h.annotate(t, "network", "")
	announced(since)

	h.annotate(t, "paused", "true")
	g.Eventually(h.says(t)).Should(ContainSubstring(string(problem.Paused)))
	ahead.add(time.Hour)
	since = ahead.now()
	h.annotate(t, "paused", "")
	announced(since)

	stop()
	ahead.add(time.Hour)
	since = ahead.now()
	_, _, stop = s.runAs(t, testOptions, ahead.now)
	announced(since)

	ahead.add(10 * time.Minute)
	h.annotate(t, "lease-time", "31m") // The clock of the queue does not jump.
	g.Eventually(func() int { return len(h.deployments(t, "vlan100")) }).Should(BeZero())
}
