package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers"
)

// TestManagerSaysWhatIsMissing: in words, before it talks to any cluster.
func TestManagerSaysWhatIsMissing(t *testing.T) {
	me := types.NamespacedName{Namespace: "oooi-system", Name: "oooi"}
	for name, c := range map[string]struct {
		options controllers.Options
		want    string
	}{
		"no image":           {controllers.Options{ServiceAccount: me}, "RELATED_IMAGE_OOOI"},
		"no namespace":       {controllers.Options{Image: "x", ServiceAccount: types.NamespacedName{Name: "oooi"}}, "POD_NAMESPACE"},
		"no service account": {controllers.Options{Image: "x", ServiceAccount: types.NamespacedName{Namespace: "oooi-system"}}, "SERVICE_ACCOUNT"},
		"nothing":            {controllers.Options{Image: "x", ServiceAccount: me}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := managerOptions{controllers: c.options}.validate()
			if c.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

// TestManagerTakesImagesFromItsEnvironment, which is how a mirror or a test
// cluster names others.
func TestManagerTakesImagesFromItsEnvironment(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(envEnvoyImage, "")
	g.Expect(environment().EnvoyImage).To(Equal(defaultEnvoyImage))
	t.Setenv(envEnvoyImage, "localhost/envoy:dev")
	t.Setenv(envImage, "localhost/oooi:dev")
	g.Expect(environment().EnvoyImage).To(Equal("localhost/envoy:dev"))
	g.Expect(environment().Image).To(Equal("localhost/oooi:dev"))
}
