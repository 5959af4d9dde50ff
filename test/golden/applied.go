// This file reads single objects that the operator applies in a story.

package golden

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Applied reads into o the object that the operator applies in the story, by its kind and name
// ("Role oooi-edge"), as an object of namespace ns. It has no owner: that exists in the story only.
func (s Story) Applied(t testing.TB, name, ns string, o metav1.Object) {
	t.Helper()
	d, found := find(documents(s.Read(t, "applied.yaml")), name)
	if !found {
		t.Fatalf("story %s applies no %s", s.Name, name)
	}
	if err := yaml.UnmarshalStrict([]byte(d.text), o); err != nil {
		t.Fatal(err)
	}
	o.SetNamespace(ns)
	o.SetOwnerReferences(nil)
}
