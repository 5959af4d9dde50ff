package programs

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestReplace: a program that another test may run is left alone. One of another version is not.
func TestReplace(t *testing.T) {
	for name, c := range map[string]struct{ there, want string }{
		"nothing is there":      {"", "new"},
		"another was faster":    {"sbin/chronyd", "former"},
		"it has another layout": {"bin/chronyd", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			g, all := NewWithT(t), t.TempDir()
			place, paths := filepath.Join(all, "chrony"), []string{"usr/sbin/chronyd", "sbin/chronyd"}
			file := func(dir, path, content string) {
				g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755)).To(Succeed())
				g.Expect(os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600)).To(Succeed())
			}
			file(filepath.Join(all, "unpacked"), "sbin/chronyd", "new")
			if c.there != "" {
				file(place, c.there, "former")
			}
			g.Expect(replace(filepath.Join(all, "unpacked"), place, paths)).To(Succeed())
			g.Expect(os.ReadFile(firstFile(place, paths))).To(BeEquivalentTo(c.want))
		})
	}
}
