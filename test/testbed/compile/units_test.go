package compile

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestUnits: a program of another module shares the packages whose versions, and whose dependencies' versions, are the
// same.
func TestUnits(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	write := func(name, text string) {
		g.Expect(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(root, name), []byte(text), 0o600)).To(Succeed())
	}
	write("leaf/go.mod", "module example.com/leaf\n\ngo 1.26\n")
	const leaf, middle, main = "package leaf\n", "package middle\n\nimport _ \"example.com/leaf\"\n", "package main\n\nimport _ \"example.com/middle\"\n\nfunc main() {}\n"
	write("leaf/leaf.go", leaf)
	write("middle/go.mod", "module example.com/middle\n\ngo 1.26\n\nrequire example.com/leaf v1.0.0\n")
	write("middle/middle.go", middle)
	program := func(name, version string) Build {
		write(name+"/go.mod", "module example.com/"+name+"\n\ngo 1.26\n\nrequire example.com/middle v1.0.0\n\nrequire example.com/leaf "+version+" // indirect\n"+
			"\nreplace example.com/middle => ../middle\n\nreplace example.com/leaf => ../leaf\n")
		write(name+"/main.go", main)
		return Build{Dir: filepath.Join(root, name), Env: []string{"GOFLAGS=-buildvcs=false", "GOWORK=off"}, Package: "."}
	}
	var c Counter
	add := func(b Build) Units {
		u, err := c.Add(t.Context(), b)
		g.Expect(err).NotTo(HaveOccurred())
		return u
	}
	first := program("first", "v1.0.0")
	g.Expect(add(first)).To(HaveField("Packages", 3))
	g.Expect(add(first)).To(Equal(Units{}), "the cache has them")
	g.Expect(add(program("second", "v1.0.0"))).To(Equal(Units{1, int64(len(main))}), "the program itself")
	g.Expect(add(program("third", "v1.1.0"))).To(Equal(Units{3, int64(len(main + middle + leaf))}), "a leaf in another version, and all above it")
}
