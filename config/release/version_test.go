package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// TestWhatIsPublished: only a tagged commit with the version of config/manager is.
func TestWhatIsPublished(t *testing.T) {
	g := NewWithT(t)
	g.Expect(checkout{tag: "v0.1.0"}.mayPublish("v0.1.0", namespace)).To(Succeed())
	g.Expect(checkout{tag: "v0.1.1"}.mayPublish("v0.1.0", namespace)).To(MatchError(ContainSubstring(`"v0.1.1", and config/manager says v0.1.0`)))
	g.Expect(checkout{}.mayPublish("v0.1.0", namespace)).NotTo(Succeed())
	g.Expect(checkout{tag: "v0.1.0", changed: true}.mayPublish("v0.1.0", namespace)).To(MatchError(ContainSubstring("files differ")))
	g.Expect(checkout{}.mayPublish("v0.1.0", "registry.example.com/networks")).To(Succeed())
	g.Expect(checkout{changed: true}.mayPublish("v0.1.0", "registry.example.com/networks")).NotTo(Succeed())
}

// TestIdentity: only what is made of the tagged commit says that it is the release.
func TestIdentity(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for want, state := range map[string]checkout{
		"v0.1.0":                    {revision: commit, tag: "v0.1.0"},
		"v0.1.0+0123456789ab":       {revision: commit, tag: "v0.0.9"},
		"v0.1.0+0123456789ab-dirty": {revision: commit, tag: "v0.1.0", changed: true},
		"v0.1.0+unknown":            {},
	} {
		t.Run(want, func(t *testing.T) {
			g := NewWithT(t)
			got := state.identity("v0.1.0", time.Time{})
			g.Expect(got.build).To(Equal(want))
			g.Expect(got.version).To(Equal("v0.1.0"))
			g.Expect(got.tag()).To(MatchRegexp(`^v0\.1\.0(-[0-9a-z-]+)?$`), "what a tag can have")
			g.Expect(got.revision == commit).To(Equal(!state.changed && state.revision != ""))
		})
	}
}

// TestRegistry: images are published where all container runtimes look for them.
func TestRegistry(t *testing.T) {
	g := NewWithT(t)
	for _, registry := range []string{"registry.example.com/networks", "registry.example.com:5000/networks/", "localhost:5000"} {
		g.Expect(home(registry)).To(Equal(strings.TrimSuffix(registry, "/")))
	}
	for _, registry := range []string{"networks", "networks/oooi", "https://registry.example.com", "registry.example.com/Networks", ""} {
		_, err := home(registry)
		g.Expect(err).To(HaveOccurred(), registry)
	}
}

// TestNotes: the page of a release lists its own changes, and no older ones. A version without a section is an error.
func TestNotes(t *testing.T) {
	g := NewWithT(t)
	r := release{identity: identity{version: "v0.2.0", build: "v0.2.0"}, registry: namespace}
	text, err := r.notes("# Changelog\n\n## v0.2.0 (2026-12-01)\n\n- New: [page](docs/x.md).\n\n## v0.1.0\n\n- Old.\n", "1.26.8")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(And(ContainSubstring("- New: [page]("+repository+"/blob/v0.2.0/docs/x.md)."), Not(ContainSubstring("- Old."))))
	_, err = r.notes("# Changelog\n\n## v0.1.0\n\n- Old.\n", "1.26.8")
	g.Expect(err).To(MatchError(ContainSubstring("no section v0.2.0")))
}

// TestUpgradesFromTheVersionBefore: catalogs offer this version to installations of the one before, also when they do not
// list that any more.
func TestUpgradesFromTheVersionBefore(t *testing.T) {
	g := NewWithT(t)
	changelog := "# Changelog\n\n## v0.3.0-rc1\n\n- Soon.\n\n## v0.3.0\n\n- New.\n\n## v0.2.0 (2026-12-01)\n\n- Less new.\n\n## v0.1.0\n\n- Old.\n"
	g.Expect(before(changelog, "v0.3.0")).To(Equal("v0.2.0"))
	g.Expect(before(changelog, "v0.2.0")).To(Equal("v0.1.0"))
	g.Expect(before(changelog, "v0.1.0")).To(BeEmpty())
	g.Expect(before(changelog, "v9.9.9")).To(BeEmpty())

	out, err := assemble(t.Context(), fixture(t)) // its changelog has v0.0.1 before
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{"catalog/oooi/catalog.yaml", "community-operators/operators/oooi/0.1.0/release-config.yaml"} {
		g.Expect(string(out.files[name])).To(And(ContainSubstring("replaces: oooi.v0.0.1\n"), MatchRegexp("skipRange: ['\"]?<0.1.0['\"]?\n")), name)
	}
	for name := range out.files {
		g.Expect(name).NotTo(Or(HaveSuffix("/ci.yaml"), HaveSuffix("/basic.yaml")), "the community catalog's own has the version before")
	}
}

// TestOneVersion: config/manager has the version. No manifest and no page names our images by another one.
func TestOneVersion(t *testing.T) {
	g := NewWithT(t)
	bundle, err := readBundle()
	g.Expect(err).NotTo(HaveOccurred())
	changelog, err := os.ReadFile(root + "/CHANGELOG.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, _, found := section(string(changelog), "v"+bundle.Version)
	g.Expect(found).To(BeTrue(), "CHANGELOG.md has no section of this version")
	list := exec.Command("git", "grep", "-hoE", namespace+"/[a-z-]+:[v0-9][^ `\"')]*", "--", "*.yaml", "*.md", "*.go", "Makefile")
	list.Dir = root
	named, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	lines := strings.Fields(string(named))
	g.Expect(len(lines)).To(BeNumerically(">", 5))
	for _, line := range lines {
		g.Expect(line).To(HaveSuffix(":v" + bundle.Version))
	}
}

// TestWorkflows: a workflow runs no action that can change, and the Go version of go.mod. A job with rights to write runs
// nothing but our release program, after an approval.
func TestWorkflows(t *testing.T) {
	g := NewWithT(t)
	workflows, err := filepath.Glob(root + "/.github/workflows/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(workflows)).To(BeNumerically(">", 1))
	for _, path := range workflows {
		text, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Environment string
				Permissions map[string]string
				Steps       []struct {
					Uses, Run string
					With      map[string]any
				}
			}
		}
		g.Expect(yaml.Unmarshal(text, &workflow)).To(Succeed())
		g.Expect(workflow.Permissions).NotTo(BeNil(), path)
		g.Expect(workflow.Permissions).NotTo(ContainElement("write"), path)
		g.Expect(workflow.Jobs).NotTo(BeEmpty())
		for _, job := range workflow.Jobs {
			for _, step := range job.Steps {
				g.Expect(step.Uses).To(Or(BeEmpty(), MatchRegexp(`^[\w.-]+/[\w.-]+@[0-9a-f]{40}$`)), path)
				if strings.HasPrefix(step.Uses, "actions/setup-go@") {
					g.Expect("go"+step.With["go-version"].(string)).To(Equal(toolchain(g)), path)
				}
				if slices.Contains(slices.Collect(maps.Values(job.Permissions)), "write") {
					g.Expect(job.Environment).NotTo(BeEmpty(), path)
					g.Expect(step.Run).NotTo(MatchRegexp(`\bgo |make (release|release-dry-run|unit|vulncheck|test)( |\n|$)`), path)
				}
				g.Expect(step.Run).NotTo(ContainSubstring("${{"), "%s: an expression in a script can be code of others", path)
			}
		}
	}
}

// toolchain is the Go version that go.mod wants for releases, such as "go1.26.8".
func toolchain(g *WithT) string {
	text, err := os.ReadFile(root + "/go.mod")
	g.Expect(err).NotTo(HaveOccurred())
	_, rest, _ := strings.Cut(string(text), "\ntoolchain ")
	version, _, found := strings.Cut(rest, "\n")
	g.Expect(found).To(BeTrue())
	return version
}
