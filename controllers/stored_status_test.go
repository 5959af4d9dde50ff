package controllers

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/test/apiserver"
)

// storedStatus is what is stored for `oooi status`.
func (h hosted) storedStatus(t *testing.T) (explain.Report, string) {
	t.Helper()
	o := &corev1.ConfigMap{}
	if err := h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.StatusConfigMap}, o); err != nil {
		return explain.Report{Summary: err.Error()}, ""
	}
	s, err := explain.ReadReport([]byte(o.Data[wire.StatusKey]))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s, o.ResourceVersion
}

// testStoredStatus: with the rights of the operator, the status is stored next to the plan and follows each change of what
// plans are made from. A pass without a change stores it again after ten minutes only. Opting out removes it.
func testStoredStatus(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "status")
	boots := func() explain.Answer { s, _ := h.storedStatus(t); return s.Boots }
	g.Eventually(boots).Should(Equal(explain.Yes))
	stored, _ := h.storedStatus(t)
	g.Expect(stored.Cluster).To(Equal(h.key.String()))
	g.Expect(stored.Generation).To(Equal(h.hostedCluster(t).Generation))
	g.Expect(h.condition(t).Message).To(HaveSuffix("(settings " + stored.Settings + ")"))
	g.Expect(stored.Plan).To(Equal(explain.PlanHash(h.plan(t))))
	g.Expect(stored.Build).To(Equal(r.Options.Build))

	pool := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name}}
	h.patched(t, pool, pool.Namespace, pool.Name, map[string]any{"spec": map[string]any{"replicas": 7}})
	inputs := func() string { s, _ := h.storedStatus(t); return s.Inputs }
	g.Eventually(inputs).ShouldNot(Equal(stored.Inputs), "a spec has no annotation, and does not change the generation")
	g.Expect(inputs()).NotTo(BeEmpty())

	// A second operator begins without a memory, and reads what is stored.
	now := time.Now()
	second := &Reconciler{Client: r.Client, Live: r.Live, SecondNames: r.SecondNames, Events: r.Events, Kinds: r.Kinds, Metrics: r.Metrics, Options: r.Options, Now: func() time.Time { return now }}
	again(t, second, h)
	_, first := h.storedStatus(t)
	now = now.Add(5 * time.Minute)
	again(t, second, h)
	_, same := h.storedStatus(t)
	g.Expect(same).To(Equal(first))
	now = now.Add(5 * time.Minute)
	again(t, second, h)
	stored, renewed := h.storedStatus(t)
	g.Expect(renewed).NotTo(Equal(first))
	g.Expect(stored.Written).To(BeTemporally("~", now, time.Second))

	h.annotate(t, "network", "none")
	g.Eventually(func() string { s, _ := h.storedStatus(t); return s.Summary }).Should(ContainSubstring("not found"))
}

// testForeignStatus: a ConfigMap of that name that another client made stays as it is, and the cluster is served.
func testForeignStatus(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "foreignstatus", nil)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.StatusConfigMap}, Data: map[string]string{"mine": "yes"}}
	g.Expect(apiserver.Create(t.Context(), h.admin, foreign)).To(Succeed())
	h.publish(t)
	h.edgeServes(t)
	h.wellServed(t)
	g.Expect(h.admin.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
	g.Expect(foreign.Data).To(Equal(map[string]string{"mine": "yes"}))
}
