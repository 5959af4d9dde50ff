// What a program's key is made of, and that each has its module.

package build

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestProgramKey(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	write := func(name, text string) {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)).To(Succeed())
	}
	write("go.mod", "module m")
	write("main.go", "package main")
	p := program{name: "p", pkg: "."}
	key := func(p program, version string) string {
		k, err := p.key(dir, version)
		g.Expect(err).NotTo(HaveOccurred())
		return k
	}
	first := key(p, "go1")
	g.Expect(key(p, "go1")).To(Equal(first))
	g.Expect(key(p, "go2")).NotTo(Equal(first), "another Go")
	g.Expect(key(program{name: "p", pkg: ".", cgo: true}, "go1")).NotTo(Equal(first), "other flags")
	write("main_test.go", "package main")
	g.Expect(key(p, "go1")).To(Equal(first), "a test is not in the program")
	write("main.go", "package main // changed")
	g.Expect(key(p, "go1")).NotTo(Equal(first), "another source")
}

func TestProgramsHaveTheirModules(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, p := range programs() {
		g.Expect(filepath.Join("..", "modules", p.module, "go.mod")).To(BeAnExistingFile(), p.name)
		for _, name := range append([]string{p.name}, p.links...) {
			g.Expect(seen).NotTo(HaveKey(name), "two programs of one name")
			seen[name] = true
		}
	}
}
