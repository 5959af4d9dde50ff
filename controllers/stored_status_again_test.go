package controllers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStatusIsStoredAgain: a status that could not be stored is stored in the next pass, and then not until it changes.
func TestStatusIsStoredAgain(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	w.binding = &metav1.PartialObjectMetadata{}
	d := decide(w, testOptions, testNow)
	api := newTakes(t, 0)
	r := &Reconciler{Client: api, Live: api, Options: testOptions, Now: func() time.Time { return testNow }}
	store := func() int {
		before := api.left
		r.keepStatus(t.Context(), w, d, verdictOf(w, d, outcome{}))
		return before - api.left
	}
	g.Expect(store()).To(Equal(1), "the API server is away")
	api.left = 9
	g.Expect(store()).To(Equal(1))
	g.Expect(store()).To(BeZero())
}
