package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

func TestMain(m *testing.M) { programs.Main(m, main) }

// TestPlugin: under the name of a plugin, kubectl runs it, and help has the name that users type.
func TestPlugin(t *testing.T) {
	g := NewWithT(t)
	path, env := programs.Self(t)
	plugin := filepath.Join(t.TempDir(), "kubectl-oooi")
	g.Expect(os.Symlink(path, plugin)).To(Succeed())
	c := exec.CommandContext(t.Context(), plugin, "status", "--help")
	c.Env = env
	said, err := c.Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(said)).To(ContainSubstring("\n  kubectl oooi status [NAMESPACE/NAME] [flags]\n"))
	help, _, _ := oooi(t, "", "status", "--help")
	g.Expect(help).To(ContainSubstring("\n  oooi status [NAMESPACE/NAME] [flags]\n"))
}
