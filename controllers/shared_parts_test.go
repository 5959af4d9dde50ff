package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// TestDeploymentsInTheCache: a Deployment that shares parts with others has the same content, and a copy
// of it shares nothing.
func TestDeploymentsInTheCache(t *testing.T) {
	g := NewWithT(t)
	transform := deploymentTransform()
	w, plan := served(t, "two-vlans")
	cached := func(d appsv1.Deployment) *appsv1.Deployment {
		o, err := transform(d.DeepCopy())
		g.Expect(err).NotTo(HaveOccurred())
		return o.(*appsv1.Deployment)
	}
	all := edges(t, w, plan)
	g.Expect(all).NotTo(BeEmpty())
	for _, d := range all {
		first, second := cached(d), cached(d)
		g.Expect(equality.Semantic.DeepEqual(first, &d)).To(BeTrue())
		g.Expect(equality.Semantic.DeepEqual(second, &d)).To(BeTrue())
		containers := first.Spec.Template.Spec.Containers
		g.Expect(second.Spec.Template.Spec.Containers[0].SecurityContext).To(BeIdenticalTo(containers[0].SecurityContext))
		copied := second.DeepCopy()
		copied.Spec.Template.Spec.Containers[0].Image = "other"
		copied.Spec.Template.Spec.Containers[0].Args = []string{"other"}
		copied.Spec.Template.Spec.Volumes[0].Name = "other"
		g.Expect(equality.Semantic.DeepEqual(first, &d)).To(BeTrue())
	}
}

// TestPartsThatAreRememberedAreFew: parts of Deployments that are gone do not stay for ever.
func TestPartsThatAreRememberedAreFew(t *testing.T) {
	s := &sharedParts{}
	for i := range 2 * maxParts {
		part := []int{i}
		share(s, &part)
		NewWithT(t).Expect(part).To(Equal([]int{i}))
	}
	NewWithT(t).Expect(len(s.all)).To(BeNumerically("<=", maxParts))
}
