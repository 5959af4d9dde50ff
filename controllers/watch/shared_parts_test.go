package watch

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
)

// TestPartsThatAreRememberedAreFew: parts of Deployments that are gone, or that others made very large, do not stay for ever.
func TestPartsThatAreRememberedAreFew(t *testing.T) {
	for name, size := range map[string]int{"small": 100, "large": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			s, all := &sharedParts{}, 0
			for i := range 2 * maxShared / size {
				part := []string{fmt.Sprint(i), strings.Repeat("x", size)}
				s.share(reflect.ValueOf(&part).Elem())
				NewWithT(t).Expect(part[0]).To(Equal(fmt.Sprint(i)))
			}
			for key := range s.all {
				all += len(key)
			}
			NewWithT(t).Expect(all).To(And(BeNumerically(">", 0), BeNumerically("<=", maxShared)))
		})
	}
}

// TestLargeObjectsWithLabels: an object that is cached for its labels, which anyone may set, cannot fill the memory.
func TestLargeObjectsWithLabels(t *testing.T) {
	large := metav1.ObjectMeta{Namespace: "a", Name: "oooi-x", ResourceVersion: "7", Labels: own.Labels(), Annotations: map[string]string{"x": strings.Repeat("x", 1<<20)}}
	small := *large.DeepCopy()
	small.Annotations["x"] = "x"
	found := 0
	for kind, by := range CacheOptions(nil).ByObject {
		if by.Label == nil || by.Transform == nil {
			continue
		}
		var of func(metav1.ObjectMeta) client.Object
		switch kind.(type) {
		case *appsv1.Deployment:
			of = func(m metav1.ObjectMeta) client.Object {
				return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{MinReadySeconds: 5}}
			}
		case *policyv1.PodDisruptionBudget:
			of = func(m metav1.ObjectMeta) client.Object {
				return &policyv1.PodDisruptionBudget{ObjectMeta: m, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &intstr.IntOrString{IntVal: 1}}}
			}
		default:
			continue // The Lease of a report: TestReportsInMemoryAreShort.
		}
		found++
		g := NewWithT(t)
		kept, err := by.Transform(of(*small.DeepCopy()))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept).To(Equal(of(small)), "%T", kind)
		name := metav1.ObjectMeta{Namespace: "a", Name: "oooi-x", ResourceVersion: "7"}
		kept = of(*large.DeepCopy())
		for range 2 { // Informers transform some objects twice.
			kept, err = by.Transform(kept)
			g.Expect(err).NotTo(HaveOccurred())
			o := kept.(client.Object)
			g.Expect(metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), ResourceVersion: o.GetResourceVersion()}).To(Equal(name))
			g.Expect(o.GetAnnotations()).To(BeEmpty(), "%T", kind)
			g.Expect(own.Is(o)).To(BeFalse(), "%T", kind)
		}
	}
	NewWithT(t).Expect(found).To(Equal(2))
}
