package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
)

// TestStatusIsStoredAgain: a status that could not be stored is stored in the next pass, and then not until it changes.
func TestStatusIsStoredAgain(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	w.Binding = &metav1.PartialObjectMetadata{}
	d := decide.About(w, testOptions.Release, testNow)
	w.HostedCluster.Status.Conditions = []metav1.Condition{*reportOf(t, w, d, apply.Outcome{}).Condition}
	api := newTakes(t, 0)
	r := reconcilerOf(api, prometheus.NewRegistry())
	store := func() int {
		before := api.left
		g.Expect(r.report(t.Context(), w, d, apply.Outcome{})).To(Succeed())
		w.PreviousReport = r.memory.of(client.ObjectKeyFromObject(w.HostedCluster)).reported.Report
		return before - api.left
	}
	g.Expect(store()).To(Equal(1), "the API server is away")
	api.left = 9
	g.Expect(store()).To(Equal(1))
	g.Expect(store()).To(BeZero())
}
