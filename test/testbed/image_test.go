// Images as bytes: what is in them, and when they are the same.

package testbed

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// tarEntries are the entries of a tar, links with their target.
func tarEntries(g *WithT, r io.Reader) map[string]string {
	found := map[string]string{}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).NotTo(HaveKey(h.Name), "twice in the tar")
		content, err := io.ReadAll(t)
		g.Expect(err).NotTo(HaveOccurred())
		found[h.Name] = h.Linkname + string(content)
	}
}

func TestImage(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("OOOI_CACHE", t.TempDir())
	program := filepath.Join(t.TempDir(), "program")
	g.Expect(os.WriteFile(program, []byte("#!"), 0o755)).To(Succeed())
	image := Image{
		Names: []string{"localhost:5000/a/b:1", "localhost/c:2"}, Entrypoint: []string{"/usr/bin/program"}, User: "65532",
		Labels: map[string]string{"k": "v"},
		Files: []File{
			{Path: "/usr/bin/program", Source: program},
			{Path: "/usr/bin/also", Link: "program"},
			{Path: "/etc/file", Data: []byte("text")},
		},
	}
	packed, err := image.Pack()
	g.Expect(err).NotTo(HaveOccurred())

	var layer bytes.Buffer
	g.Expect(packed.WriteLayer(&layer)).To(Succeed())
	g.Expect(digest(layer.Bytes())).To(Equal(packed.Layer.Digest))
	g.Expect(int64(layer.Len())).To(Equal(packed.Layer.Size))
	g.Expect(tarEntries(g, &layer)).To(And(
		HaveKeyWithValue("usr/bin/program", "#!"), HaveKeyWithValue("usr/bin/also", "program"), HaveKeyWithValue("etc/file", "text"),
		HaveKey("usr/"), HaveKey("usr/bin/"), HaveKey("tmp/")))

	path, manifestDigest, err := image.Tar()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifestDigest).To(Equal(digest(packed.Manifest)))
	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	entries := tarEntries(g, file)
	g.Expect(entries).To(And(HaveKey(blobPath(packed.Layer.Digest)), HaveKey(blobPath(digest(packed.Config)))))
	var index struct {
		Manifests []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	g.Expect(json.Unmarshal([]byte(entries["index.json"]), &index)).To(Succeed())
	var names []string
	for _, m := range index.Manifests {
		g.Expect(entries).To(HaveKey(blobPath(m.Digest)))
		names = append(names, m.Annotations["io.containerd.image.name"])
	}
	g.Expect(names).To(ConsistOf("localhost:5000/a/b:1", "localhost:5000/a/b@"+manifestDigest, "localhost/c:2", "localhost/c@"+manifestDigest))

	g.Expect(os.WriteFile(program, []byte("#?"), 0o755)).To(Succeed())
	changed, _, err := image.Tar()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changed).NotTo(Equal(path), "another program under the same names")
}

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
		g.Expect(filepath.Join("modules", p.module, "go.mod")).To(BeAnExistingFile(), p.name)
		for _, name := range append([]string{p.name}, p.links...) {
			g.Expect(seen).NotTo(HaveKey(name), "two programs of one name")
			seen[name] = true
		}
	}
}

func TestClusterNames(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []string{"", "a", "tb-2"} {
		_, err := open(Options{Name: name})
		g.Expect(err).NotTo(HaveOccurred(), name)
	}
	for _, name := range []string{"..", "a/b", "a.b", "-a", "a-", "A", "abcdefghijklmnopqrstuvwxyz"} {
		_, err := open(Options{Name: name})
		g.Expect(err).To(HaveOccurred(), name)
	}
	t.Setenv("OOOI_TESTBED_DIR", "/var/lib/testbed")
	_, err := open(Options{})
	g.Expect(err).To(MatchError(ContainSubstring("OOOI_TESTBED_DIR")))
	c := &Cluster{Name: "a"}
	g.Expect(c.hostNames([]string{"oooi-a", "oooi-a.w", "oooi-a-b", "oooi-ab", "oooi-b", "a"})).To(Equal([]string{"oooi-a", "oooi-a.w"}))
}
