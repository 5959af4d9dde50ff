package imageref_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/imageref"
)

// TestScopes: many scopes together cover what one of them covers.
func TestScopes(t *testing.T) {
	g, r := NewWithT(t), rand.New(rand.NewPCG(1, 2))
	text := func() (out string) {
		for range r.IntN(6) {
			out += []string{"a", "B", ".", "*.", "/", ":", "@", "a.b", "http://", "https://", ":5000"}[r.IntN(11)]
		}
		return out
	}
	covered := 0
	for range 200_000 {
		scopes, image := []string{text(), text()}, text()
		want := slices.ContainsFunc(scopes, func(scope string) bool { return imageref.Covers(scope, image) })
		g.Expect(imageref.NewScopes(scopes).Cover(image)).To(Equal(want), "%q in %q", image, scopes)
		if want {
			covered++
		}
	}
	g.Expect(covered).To(BeNumerically(">", 10_000))
	g.Expect(imageref.NewScopes(nil).Cover("quay.io/a")).To(BeFalse())
}
