// Images as bytes: what is in them, and when they are the same.

package image

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
