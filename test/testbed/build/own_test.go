// This file shows that only a testbed on a machine without a synchronized clock plays one.

package build

import (
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	released "github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/test/testbed/host"
)

func TestOnlyATestbedPlaysAClock(t *testing.T) {
	root, err := host.ProjectDir()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, tc := range map[string]struct {
		program released.Program
		plays   bool
	}{
		"a release":                            {released.Own(root, "./cmd/oooi-edge"), false},
		"a testbed, the clock is synchronized": {own(root, "oooi-edge", false), false},
		"a testbed, it is not":                 {own(root, "oooi-edge", true), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			list := exec.CommandContext(t.Context(), "go", "list", "-tags", tc.program.Tags, "-f", "{{.GoFiles}}", tc.program.Command)
			list.Dir = root
			files, err := list.Output()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Contains(string(files), "ntp_clock_played.go")).To(Equal(tc.plays), "%s", files)
			g.Expect(strings.Contains(string(files), "ntp_clock.go")).To(Equal(!tc.plays), "%s", files)
		})
	}
	g := NewWithT(t)
	g.Expect(own(root, "oooi", true)).To(Equal(released.Own(root, "./cmd/oooi")), "the operator tells no time")
}
