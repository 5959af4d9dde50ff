package controllers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// afterRestart is how long the operator has to notice changes after the API server was away: client-go waits for up to a minute
// between two requests.
const afterRestart = 5 * time.Minute

// rackOf is the value of the node label rack that d requires. Empty: none.
func rackOf(d appsv1.Deployment) string {
	a := d.Spec.Template.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if e.Key == "rack" {
				return strings.Join(e.Values, " ")
			}
		}
	}
	return ""
}

// testRestoredAPIServer: the etcd of the management cluster is restored to an older state while the operator runs. The
// operator follows the older state and what changes after it, although etcd assigns resource versions again that caches and
// the operator's own writes already have.
func testRestoredAPIServer(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	_, _, stop := s.runAs(t, testOptions, time.Now)
	h := s.served(t, "restored")
	stop()
	state := s.Save(t)
	s.run(t)
	racks := func() (out []string) {
		all := h.deployments(t, "vlan100")
		for _, d := range all {
			out = append(out, rackOf(d))
		}
		g.Expect(h.allServe(t, all)).To(Succeed())
		return out
	}
	h.annotate(t, "edge-node-selector", "rack=7")
	g.Eventually(racks, afterRestart).Should(Equal([]string{"7", "7"}))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "revisions"}}
	g.Expect(s.admin.Create(t.Context(), cm)).To(Succeed())
	for i := range 500 { // The restored API server does not reach this revision again while the test runs.
		cm.Data = map[string]string{"i": fmt.Sprint(i)}
		g.Expect(s.admin.Update(t.Context(), cm)).To(Succeed())
	}
	s.Restore(t, state)

	g.Expect(racks()).To(Equal([]string{"", ""}), "the state of the backup")
	h.annotate(t, "edge-node-selector", "rack=8")
	g.Eventually(racks, afterRestart).Should(Equal([]string{"8", "8"}))
	h.wellServed(t)
}
