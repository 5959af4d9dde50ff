package own

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestObserved: a status is about a spec, not about annotations.
func TestObserved(t *testing.T) {
	of := func(uid types.UID, generation, observed int64, replicas int32) appsv1.Deployment {
		d := appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
		d.UID, d.Generation, d.Status.ObservedGeneration = uid, generation, observed
		return d
	}
	for name, test := range map[string]struct {
		before []appsv1.Deployment
		now    appsv1.Deployment
		is     bool
	}{
		"observed":                         {nil, of("a", 3, 3, 1), true},
		"not observed, nothing known":      {nil, of("a", 3, 2, 1), false},
		"annotated":                        {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("a", 3, 2, 1), true},
		"annotated twice":                  {[]appsv1.Deployment{of("a", 2, 2, 1), of("a", 3, 2, 1)}, of("a", 4, 2, 1), true},
		"another spec":                     {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("a", 3, 2, 0), false},
		"another spec, then annotated":     {[]appsv1.Deployment{of("a", 2, 2, 1), of("a", 3, 2, 0)}, of("a", 4, 2, 0), false},
		"the former spec, another status":  {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("a", 4, 3, 1), false},
		"another Deployment of that name":  {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("b", 3, 2, 1), false},
		"annotated after a spec was there": {[]appsv1.Deployment{of("a", 2, 2, 1), of("a", 3, 3, 0)}, of("a", 4, 3, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Observed{}
			for _, d := range test.before {
				o.Settled(d)
			}
			d := o.Settled(test.now)
			NewWithT(t).Expect(d.Status.ObservedGeneration >= d.Generation).To(Equal(test.is))
		})
	}
}
