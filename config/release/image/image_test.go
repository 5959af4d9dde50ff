package image

import (
	"archive/tar"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/gomega"
)

func example(content string) (Description, []Variant) {
	d := Description{
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Annotations: map[string]string{"org.opencontainers.image.title": "example"},
		Labels: map[string]string{"a": "b"}, Entrypoint: []string{"/usr/bin/example"}, User: "65532:65532",
	}
	var variants []Variant
	for _, arch := range []string{"amd64", "arm64"} {
		variants = append(variants, Variant{Arch: arch, SBOM: []byte(`{"spdxVersion":"SPDX-2.3"}`), Layers: []Files{
			{"etc/passwd": {Data: []byte("example")}}, {"usr/bin/example": {Data: []byte(content + arch), Executable: true}},
		}})
	}
	return d, variants
}

// TestEqualContentEqualDigest: who builds an image again gets the digest that manifests name.
func TestEqualContentEqualDigest(t *testing.T) {
	g := NewWithT(t)
	build := func(content string) string {
		m, err := Build(example(content))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(m.Referrers).To(HaveLen(4), "two architectures, about their image and about the index")
		return m.Digest
	}
	g.Expect(build("one")).To(Equal(build("one")))
	g.Expect(build("one")).NotTo(Equal(build("another")))
}

// TestPublished: a registry has what the layout on disk has; its users pull an image for each architecture and find
// the SBOM by the image's digest.
func TestPublished(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(silent())))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/example"
	built, err := Build(example("one"))
	g.Expect(err).NotTo(HaveOccurred())
	dir := filepath.Join(t.TempDir(), "layout")
	ref, err := name.NewTag(repository + ":v1.0.0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Store(dir, ref)).To(Succeed())
	stored, to, err := Load(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(to).To(Equal(ref))
	g.Expect(stored.Push(t.Context(), to)).To(Succeed())
	g.Expect(stored.Push(t.Context(), to)).To(Succeed(), "again: it is there")

	pulled, err := remote.Index(ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(validate.Index(pulled)).To(Succeed())
	digest, err := pulled.Digest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(digest.String()).To(Equal(built.Digest))
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		g.Expect(err).NotTo(HaveOccurred())
		checkExample(g, image, arch)
		own, err := image.Digest()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(documents(g, ref, own)).To(ConsistOf("example_linux_" + arch + ".spdx.json"))
	}
	g.Expect(documents(g, ref, digest)).To(ConsistOf("example_linux_amd64.spdx.json", "example_linux_arm64.spdx.json"))

	other, err := Build(example("another"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.Push(t.Context(), ref)).To(MatchError(ContainSubstring("a released tag never changes")))
}

// documents are the titles of the SBOMs that a registry lists for a digest.
func documents(g *WithT, ref name.Tag, about v1.Hash) (titles []string) {
	referrers, err := remote.Referrers(ref.Digest(about.String()))
	g.Expect(err).NotTo(HaveOccurred())
	list, err := referrers.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	for _, d := range list.Manifests {
		g.Expect(d.ArtifactType).To(Equal("application/spdx+json"))
		sbom, err := remote.Image(ref.Digest(d.Digest.String()))
		g.Expect(err).NotTo(HaveOccurred())
		manifest, err := sbom.Manifest()
		g.Expect(err).NotTo(HaveOccurred())
		titles = append(titles, manifest.Annotations["org.opencontainers.image.title"])
	}
	return titles
}

// TestFirstPush: a registry that denies to look into a repository that does not exist gets the image. It must not deny
// the same afterwards: then a tag could be moved unseen.
func TestFirstPush(t *testing.T) {
	g := NewWithT(t)
	built, err := Build(example("one"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, always := range []bool{false, true} {
		inner, pushed := registry.New(registry.Logger(silent())), false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, "/manifests/v1.0.0") && (always || !pushed) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			pushed = pushed || r.Method == http.MethodPut
			inner.ServeHTTP(w, r)
		}))
		ref, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/new:v1.0.0")
		g.Expect(err).NotTo(HaveOccurred())
		if err = built.Push(t.Context(), ref); always {
			g.Expect(err).To(MatchError(ContainSubstring("403")))
		} else {
			g.Expect(err).NotTo(HaveOccurred())
		}
		server.Close()
	}
}

func checkExample(g *WithT, image v1.Image, arch string) {
	config, err := image.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Architecture).To(Equal(arch))
	g.Expect(config.Config.User).To(Equal("65532:65532"))
	g.Expect(config.Config.Entrypoint).To(Equal([]string{"/usr/bin/example"}))
	g.Expect(config.Config.Labels).To(Equal(map[string]string{"org.opencontainers.image.title": "example", "a": "b"}))
	files, modes := map[string]string{}, map[string]int64{}
	flat := mutate.Extract(image)
	defer flat.Close()
	for in := tar.NewReader(flat); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(in)
		g.Expect(err).NotTo(HaveOccurred())
		files[h.Name], modes[h.Name] = string(text), h.Mode
	}
	g.Expect(files).To(HaveKeyWithValue("usr/bin/example", "one"+arch))
	g.Expect(files).To(HaveKeyWithValue("etc/passwd", "example"))
	g.Expect(modes).To(And(HaveKeyWithValue("usr/bin/example", int64(0o755)), HaveKeyWithValue("usr", int64(0o755))))
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }
