package supply

import (
	"bytes"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	spdxjson "github.com/spdx/tools-golang/json"

	"github.com/cldmnky/oooi/config/release/program"
)

// root is the directory of the project, seen from this one.
const root = "../../.."

// permissive are the licenses of modules that a program may contain.
var permissive = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// TestDependencies: each module that is linked has a license that allows it, and the text of that license.
func TestDependencies(t *testing.T) {
	g := NewWithT(t)
	all, err := Linked(root, "linux", "amd64", Commands()...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(all)).To(BeNumerically(">", 50))
	for _, m := range all {
		g.Expect(permissive).To(ContainElements(m.Licenses), m.Path)
		g.Expect(m.Texts).NotTo(BeEmpty(), m.Path)
	}
}

// TestSBOM: a reader of SPDX finds each module that a program links, with its license, and the
// hash of the program.
func TestSBOM(t *testing.T) {
	for _, dir := range Commands() {
		t.Run(filepath.Base(dir), func(t *testing.T) { describes(t, dir) })
	}
}

// describes expects that the SBOM of the program in dir is complete.
func describes(t *testing.T, dir string) {
	t.Helper()
	g := NewWithT(t)
	binary := filepath.Join(t.TempDir(), filepath.Base(dir))
	g.Expect(program.Own(root, dir).Compile(t.Context(), program.Host(), "", binary)).To(Succeed())
	all, err := Linked(root, "linux", runtime.GOARCH, dir)
	g.Expect(err).NotTo(HaveOccurred())
	var first, second bytes.Buffer
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	g.Expect(WriteSBOM(&first, binary, all, "v1.2.3", created)).To(Succeed())
	g.Expect(WriteSBOM(&second, binary, all, "v1.2.3", created)).To(Succeed())
	g.Expect(second.String()).To(Equal(first.String()))
	doc, err := spdxjson.Read(&first)
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, p := range doc.Packages {
		found[p.PackageName+" "+p.PackageVersion] = p.PackageLicenseDeclared
	}
	g.Expect(found).To(HaveKeyWithValue(HavePrefix("stdlib 1."), "BSD-3-Clause"))
	for _, m := range all {
		g.Expect(found).To(HaveKey(m.Path+" "+m.Version), "linked and not listed")
	}
	g.Expect(doc.Packages).To(HaveLen(len(all)+2), "the binary, the standard library and its modules")
	shipped := doc.Packages[0]
	g.Expect(shipped.PackageChecksums[0].Value).To(HaveLen(64))
	g.Expect(shipped.PackageVersion).To(Equal("v1.2.3"))
	g.Expect(shipped.PackageSupplier.Supplier).To(Equal("cldmnky"))
	g.Expect(shipped.PackageExternalReferences[0].Locator).To(Equal("pkg:golang/github.com/cldmnky/oooi@v1.2.3#" + strings.TrimPrefix(dir, "./")))
	g.Expect(doc.CreationInfo.Created).To(Equal("2026-01-02T03:04:05Z"))

	g.Expect(WriteSBOM(&first, binary, all[1:], "v1.2.3", created)).To(MatchError(ContainSubstring("which is not in the source")), "built from another source")
	g.Expect(WriteSBOM(&first, "sbom.go", nil, "v1.2.3", created)).To(MatchError(ContainSubstring("not a Go binary")))
}

// TestLegalTexts: what a license asks to hand on is found: license texts, and the notices that Apache-2.0 names.
func TestLegalTexts(t *testing.T) {
	g := NewWithT(t)
	std, err := StandardLibrary()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(std.Licenses).To(Equal([]string{"BSD-3-Clause"}))
	all, err := Linked(root, "linux", "arm64", "./cmd/oooi")
	g.Expect(err).NotTo(HaveOccurred())
	var notices int
	for _, m := range all {
		for _, text := range m.Texts {
			if strings.HasPrefix(filepath.Base(text), "NOTICE") {
				notices++
			}
		}
	}
	g.Expect(notices).To(BeNumerically(">", 3))
}
