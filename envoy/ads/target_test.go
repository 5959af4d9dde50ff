package ads

import (
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
)

// TestOrderMeansNothing: the order in a plan does not change Envoy's resources.
func TestOrderMeansNothing(t *testing.T) {
	g := NewWithT(t)
	a, b := blue(), blue()
	slices.Reverse(b.Backends)
	slices.Reverse(b.Listeners)
	slices.Reverse(b.Listeners[1].Forwards)
	va, vb := newTarget(resources.New(a, resources.Options{}, nil)), newTarget(resources.New(b, resources.Options{}, nil))
	for _, typeURL := range served() {
		g.Expect(va.names(typeURL)).To(Equal(vb.names(typeURL)))
		for _, name := range va.names(typeURL) {
			g.Expect(va.version(typeURL, name)).To(Equal(vb.version(typeURL, name)), name)
		}
	}
}

// TestVersionsAreOfWhatIsThere: the version of a type changes exactly when its content changes.
func TestVersionsAreOfWhatIsThere(t *testing.T) {
	g := NewWithT(t)
	a := newTarget(resources.New(blue(), resources.Options{}, nil))
	b := newTarget(resources.New(blue(), resources.Options{}, map[string][]netip.AddrPort{api.Name: {}}))
	changed := map[string]bool{}
	for _, typeURL := range served() {
		changed[plural(typeURL)] = false
		for _, name := range a.names(typeURL) {
			changed[plural(typeURL)] = changed[plural(typeURL)] || a.version(typeURL, name) != b.version(typeURL, name)
		}
	}
	g.Expect(changed).To(Equal(map[string]bool{"clusters": false, "endpoints": true, "listeners": false, "runtime values": false}))
}
