package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/config/release/catalog"
	"github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/config/release/supply"
)

// A fixture is a release of a program that only prints, with the real bundle, manifests and opm.
func fixture(t *testing.T) input {
	t.Helper()
	g := NewWithT(t)
	in := input{registry: namespace, license: root + "/LICENSE", programs: map[string]map[program.Target]binary{}}
	var err error
	in.bundle, err = readBundle()
	g.Expect(err).NotTo(HaveOccurred())
	state := checkout{revision: "0123456789abcdef0123456789abcdef01234567", tag: "v" + in.bundle.Version}
	in.identity = state.identity(state.tag, in.bundle.Created)
	in.changelog = "# Changelog\n\n## " + in.version + "\n\n- What is new.\n\n## v0.0.1\n\n- What was.\n"
	in.applied, err = readApplied()
	g.Expect(err).NotTo(HaveOccurred())
	in.samples, err = readSamples()
	g.Expect(err).NotTo(HaveOccurred())
	in.std, err = supply.StandardLibrary()
	g.Expect(err).NotTo(HaveOccurred())
	for name := range programImages() {
		in.programs[name] = printers(t, name, in.version)
	}
	in.opm, err = compileOpm(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	return in
}

// printers compiles a program called name for each platform, in a directory of its own.
func printers(t *testing.T, name, version string) map[program.Target]binary {
	t.Helper()
	g := NewWithT(t)
	source := t.TempDir()
	g.Expect(catalog.Files{
		"go.mod":             []byte("module github.com/cldmnky/oooi\n\ngo 1.26\n"),
		"version/version.go": []byte("package version\n\nvar built string\n\nfunc Of() string { return built }\n"),
		"main.go":            []byte("package main\n\nimport \"github.com/cldmnky/oooi/version\"\n\nfunc main() { println(\"" + name + "\", version.Of()) }\n"),
	}.WriteTo(source)).To(Succeed())
	out := map[program.Target]binary{}
	for _, platform := range archiveTargets() {
		path := filepath.Join(t.TempDir(), name)
		g.Expect(program.Program{Name: name, Module: source, Command: ".", FIPS: true}.Compile(t.Context(), platform, version, path)).To(Succeed())
		out[platform] = binary{path: path}
	}
	return out
}

// TestReleaseIsReproducible: who makes a release again, elsewhere, gets each byte of it. A change of a program changes
// the digest that users name.
func TestReleaseIsReproducible(t *testing.T) {
	g := NewWithT(t)
	in := fixture(t)
	first, err := assemble(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	in.programs["oooi"] = printers(t, "oooi", in.version)
	second, err := assemble(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cmp.Diff(texts(first), texts(second))).To(BeEmpty())

	in.programs["oooi"] = printers(t, "oooi", "v9.9.9")
	third, err := assemble(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(third.images[0].Digest).NotTo(Equal(first.images[0].Digest))
	g.Expect(third.images[1].Digest).To(Equal(first.images[1].Digest), "the edge's program is the same")
}

// texts are the files of a release and the digests of its images.
func texts(r release) map[string]string {
	out := map[string]string{}
	for name, text := range r.files {
		out[name] = string(text)
	}
	for _, p := range r.images {
		out[p.name] = p.Digest
	}
	return out
}

// TestEverythingNamesDigests: what users apply names exactly the images of this release, and nothing that can move. Each
// image that config/ names is in a file.
func TestEverythingNamesDigests(t *testing.T) {
	g := NewWithT(t)
	out, err := assemble(t.Context(), fixture(t))
	g.Expect(err).NotTo(HaveOccurred())
	digests := map[string]string{}
	for _, p := range out.images {
		digests[p.name] = p.Digest
	}
	image := regexp.MustCompile(`(?m)(ghcr\.io/cldmnky|docker\.io)/([a-z/-]+)([@:][^\s"']*)?`)
	for name, images := range map[string][]string{
		"assets/olm.yaml":                                  {"oooi-catalog"},
		"assets/clusterextension.yaml":                     {"oooi-catalog"},
		"assets/install.yaml":                              {"oooi", "oooi-edge", "envoyproxy/envoy"},
		"assets/apiproxy.yaml":                             {"oooi-apiproxy"},
		"bundle/manifests/oooi.clusterserviceversion.yaml": {"oooi", "oooi-edge", "envoyproxy/envoy"},
		"community-operators/operators/oooi/0.1.0/manifests/oooi.clusterserviceversion.yaml": {"oooi", "oooi-edge", "envoyproxy/envoy"},
		"catalog/oooi/catalog.yaml": {"oooi", "oooi-edge", "envoyproxy/envoy", "oooi-bundle"},
	} {
		found := map[string]bool{}
		for _, m := range image.FindAllStringSubmatch(string(out.files[name]), -1) {
			g.Expect(m[3]).To(HavePrefix("@sha256:"), "%s names %s", name, m[0])
			if want := digests[m[2]]; want != "" {
				g.Expect(m[3]).To(Equal("@"+want), "%s: %s", name, m[0])
			}
			found[m[2]] = true
		}
		for _, want := range images {
			g.Expect(found).To(HaveKey(want), "%s names no such image", name)
		}
	}
	applied := ""
	for name, text := range out.files {
		if strings.HasPrefix(name, "assets/") && strings.HasSuffix(name, ".yaml") {
			applied += string(text)
			g.Expect(string(text)).NotTo(MatchRegexp(`(ghcr\.io/cldmnky|docker\.io)/[a-z/-]+:`), name)
		}
	}
	list := exec.CommandContext(t.Context(), "git", "grep", "-hoE", namespace+"/[a-z-]+:v", "--", "config/*.yaml")
	list.Dir = root
	named, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	for _, tagged := range strings.Fields(string(named)) {
		g.Expect(applied).To(ContainSubstring(strings.TrimSuffix(tagged, ":v")+"@sha256:"), "no file that users apply has it by digest")
	}
	g.Expect(string(out.files["assets/openshift.yaml"])).To(And(ContainSubstring("kind: PrometheusRule"), ContainSubstring("/blob/v0.1.0/docs/alerts.md#")))
	in := fixture(t)
	in.bundle.Images = append(in.bundle.Images, "docker.io/library/busybox:1.36")
	_, err = assemble(t.Context(), in)
	g.Expect(err).To(MatchError(ContainSubstring("busybox:1.36 has no digest")))
	in = fixture(t)
	in.samples["olm.yaml"] = []byte("image: elsewhere\n")
	_, err = assemble(t.Context(), in)
	g.Expect(err).To(MatchError(ContainSubstring("olm.yaml does not name the catalog ghcr.io/cldmnky/oooi-catalog:" + in.version)))
}

// TestOwnRegistry: a release in a registry of your own installs from there alone. The programs print the commit.
func TestOwnRegistry(t *testing.T) {
	g := NewWithT(t)
	in := fixture(t)
	in.registry = "registry.example.com/networks"
	in.identity = checkout{revision: in.revision}.identity(in.version, in.created)
	out, err := assemble(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	named := 0
	for name, text := range out.files {
		if strings.HasSuffix(name, ".tar.gz") {
			continue
		}
		g.Expect(string(text)).NotTo(ContainSubstring(namespace), name)
		named += strings.Count(string(text), in.registry+"/oooi")
	}
	g.Expect(named).To(BeNumerically(">", 10))
	g.Expect(out.files).NotTo(HaveKey("assets/console.yaml"), "its downloads are on the page of the project's release")
	for _, p := range out.images {
		g.Expect(string(out.files["NOTES.md"])).To(ContainSubstring("| `" + in.registry + "/" + p.name + ":" + in.version + "-0123456789ab` | `" + p.Digest + "` |"))
	}
	g.Expect(string(out.files["assets/install.yaml"])).To(ContainSubstring("image: " + out.images[0].reference()))
	g.Expect(string(out.files["NOTES.md"])).To(ContainSubstring("kubectl apply -f assets/install.yaml"))
}

// TestPublish: a registry gets the images that the directory holds, and their users can pull all of them. Pushing again
// changes nothing; another release under the same tag is refused.
func TestPublish(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	in, dir := fixture(t), filepath.Join(t.TempDir(), "release")
	in.registry = strings.TrimPrefix(server.URL, "http://") + "/networks"
	out, err := assemble(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.store(dir)).To(Succeed())
	var said bytes.Buffer
	g.Expect(publish(t.Context(), dir, &said)).To(Succeed())
	g.Expect(publish(t.Context(), dir, io.Discard)).To(Succeed())
	g.Expect(out.images).To(HaveLen(5), "three programs, the bundle and the catalog")
	for _, p := range out.images {
		ref, err := name.ParseReference(p.Repository + ":" + in.version)
		g.Expect(err).NotTo(HaveOccurred())
		index, err := remote.Index(ref)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(validate.Index(index)).To(Succeed())
		digest, err := index.Digest()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(digest.String()).To(Equal(p.Digest))
		g.Expect(said.String()).To(ContainSubstring(p.name + ":" + in.version + "@" + p.Digest))
	}
	checkSums(g, dir)
	catalogFromRegistry(t, in.opm, out)

	in.programs["oooi-edge"] = printers(t, "oooi-edge", "v9.9.9")
	other, err := assemble(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.store(dir)).To(Succeed())
	g.Expect(publish(t.Context(), dir, io.Discard)).To(MatchError(ContainSubstring("a released tag never changes")))
}

// catalogFromRegistry: opm, as OLM runs it, reads from the images in a registry what the release has as files.
func catalogFromRegistry(t *testing.T, opm catalog.Opm, out release) {
	g := NewWithT(t)
	home := t.TempDir()
	g.Expect(catalog.Files{".config/containers/policy.json": []byte(`{"default": [{"type": "insecureAcceptAnything"}]}`)}.WriteTo(home)).To(Succeed())
	render := func(name string, args ...string) []byte {
		path, err := filepath.Abs(string(opm))
		g.Expect(err).NotTo(HaveOccurred())
		cmd := exec.CommandContext(t.Context(), path, append([]string{"render", out.registry + "/" + name + ":" + out.version, "--use-http", "-o", "yaml"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		text, err := cmd.Output()
		g.Expect(err).NotTo(HaveOccurred(), name)
		return text
	}
	of := func(text []byte) (out []any) {
		for part := range strings.SplitSeq(string(text), "---\n") {
			var entry any
			g.Expect(yaml.Unmarshal([]byte(part), &entry)).To(Succeed())
			if entry != nil {
				out = append(out, entry)
			}
		}
		return out
	}
	want := of(out.files["catalog/oooi/catalog.yaml"])
	g.Expect(want).To(HaveLen(3), "package, channel and bundle")
	g.Expect(cmp.Diff(want, of(render("oooi-catalog")))).To(BeEmpty())
	rendered := string(render("oooi-bundle", "--migrate-level", "bundle-object-to-csv-metadata"))
	bundle := out.images[slices.IndexFunc(out.images, func(p publication) bool { return p.name == "oooi-bundle" })]
	rendered = strings.ReplaceAll(rendered, bundle.Repository+":"+out.version, bundle.reference())
	sorted := cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) }) // opm sorts images by their registry
	g.Expect(cmp.Diff(want[2:], of([]byte(rendered)), sorted)).To(BeEmpty())
}

// checkSums checks the files of the release's page against SHA256SUMS, as users do.
func checkSums(g *WithT, dir string) {
	sums, err := os.ReadFile(filepath.Join(dir, "assets", "SHA256SUMS"))
	g.Expect(err).NotTo(HaveOccurred())
	listed := strings.Fields(string(sums))
	files, err := os.ReadDir(filepath.Join(dir, "assets"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed).To(HaveLen(2 * (len(files) - 1)))
	for i := 0; i < len(listed); i += 2 {
		text, err := os.ReadFile(filepath.Join(dir, "assets", listed[i+1]))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(fmt.Sprintf("%x", sha256.Sum256(text))).To(Equal(listed[i]))
	}
}
