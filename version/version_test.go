package version

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestOf: what the linker was told comes first. Without it, there is still a word.
func TestOf(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Of()).To(MatchRegexp(`^\S+ \(FIPS`))
	built = "v1.2.3"
	t.Cleanup(func() { built = "" })
	g.Expect(Of()).To(MatchRegexp(`^v1\.2\.3 \(FIPS 140-3 mode (on|off), module \S+\)$`))
}

// TestTag: only a release has one.
func TestTag(t *testing.T) {
	for number, want := range map[string]string{
		"v0.1.0":                             "v0.1.0",
		"v1.2.3-rc.1":                        "v1.2.3-rc.1",
		"v0.1.0+0123456789ab":                "",
		"devel":                              "",
		"v0.0.0-20261125135856-0123456789ab": "",
	} {
		NewWithT(t).Expect(tagOf(number)).To(Equal(want), number)
	}
}
