package compile

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestProgressReadsWhatGoWrites(t *testing.T) {
	g := NewWithT(t)
	p, pending := Progress{}, map[string]bool{}
	g.Expect(p.String()).To(Equal("looking at the cache"))
	p, ok := p.read("go: downloading k8s.io/api v0.37.2", pending)
	g.Expect(ok).To(BeTrue())
	g.Expect(p.String()).To(Equal("1 modules downloaded"))
	pending, p.Packages = map[string]bool{"k8s.io/api/core/v1": true, "example.com/x": true}, 2
	p, _ = p.read("k8s.io/api/core/v1", pending)
	g.Expect(p.String()).To(Equal("1 of 2 packages compiled, 1 modules downloaded"))
	g.Expect(p.Fraction()).To(BeNumerically("~", 0.475))
	again, ok := p.read("x.go:3: undefined: y", pending)
	g.Expect(ok).To(BeFalse(), "an error's text is kept")
	g.Expect(again).To(Equal(p))
	p, _ = p.read("example.com/x", pending)
	g.Expect(p.String()).To(Equal("2 packages compiled, linking"))
}

// TestRun compiles a module that no cache has, and one that does not compile.
func TestRun(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	write := func(name, text string) {
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	write("go.mod", "module example.com/x\n\ngo 1.26\n")
	write("one/one.go", "package one\n\nconst One = `"+dir+"`\n")
	write("main.go", "package main\n\nimport \"example.com/x/one\"\n\nfunc main() { println(one.One) }\n")
	b := Build{Dir: dir, Env: []string{"GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "GOWORK=off"}, Package: ".", Output: filepath.Join(dir, "x")}
	var seen []Progress
	g.Expect(Run(t.Context(), b, func(p Progress) { seen = append(seen, p) })).To(Succeed())
	g.Expect(b.Output).To(BeAnExistingFile())
	last := seen[len(seen)-1]
	g.Expect(last.Packages).To(BeNumerically(">=", 2), "the program and its package")
	g.Expect(last.Compiled).To(Equal(last.Packages))

	write("one/one.go", "package one\n\nconst Two = 2\n")
	g.Expect(Run(t.Context(), b, func(Progress) {})).To(MatchError(ContainSubstring("undefined: one.One")))
}
