package version

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestOf: what the linker was told comes first. Without it, there is still a word.
func TestOf(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Of("v1.2.3")).To(MatchRegexp(`^v1\.2\.3 \(FIPS 140-3 mode (on|off), module \S+\)$`))
	g.Expect(Of("")).To(MatchRegexp(`^\S+ \(FIPS`))
}
