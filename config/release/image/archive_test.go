package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
)

// TestArchive: a container runtime finds the image under each name, by the digest that manifests name.
func TestArchive(t *testing.T) {
	g := NewWithT(t)
	built, err := Build(example("one"))
	g.Expect(err).NotTo(HaveOccurred())
	var out bytes.Buffer
	names := []string{"localhost/a:1", "localhost/a@" + built.Digest}
	g.Expect(built.WriteArchive(&out, names...)).To(Succeed())

	content := map[string][]byte{}
	for in := tar.NewReader(&out); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		content[h.Name], err = io.ReadAll(in)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(content).To(HaveKey("oci-layout"))
	blob := func(h v1.Hash) []byte {
		text := content["blobs/sha256/"+h.Hex]
		g.Expect(text).NotTo(BeEmpty(), h)
		return text
	}
	var top, platforms v1.IndexManifest
	g.Expect(json.Unmarshal(content["index.json"], &top)).To(Succeed())
	var found []string
	for _, d := range top.Manifests {
		g.Expect(d.Digest.String()).To(Equal(built.Digest))
		found = append(found, d.Annotations["io.containerd.image.name"])
	}
	g.Expect(found).To(Equal(names))
	g.Expect(json.Unmarshal(blob(top.Manifests[0].Digest), &platforms)).To(Succeed())
	g.Expect(platforms.Manifests).To(HaveLen(2))
	for _, p := range platforms.Manifests {
		var m v1.Manifest
		g.Expect(json.Unmarshal(blob(p.Digest), &m)).To(Succeed())
		for _, d := range append(m.Layers, m.Config) {
			g.Expect(blob(d.Digest)).To(HaveLen(int(d.Size)))
		}
		g.Expect(strings.HasSuffix(string(m.Layers[0].MediaType), "+gzip")).To(BeTrue())
	}
}
