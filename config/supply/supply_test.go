package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	spdxjson "github.com/spdx/tools-golang/json"
)

// permissive are the licenses of modules that the binary may contain.
var permissive = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// TestDependencies: the page lists what is linked now, under licenses that allow it.
func TestDependencies(t *testing.T) {
	g := NewWithT(t)
	all, err := linked(root)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(all)).To(BeNumerically(">", 50))
	for _, m := range all {
		g.Expect(permissive).To(ContainElements(m.Licenses), m.Path)
	}
	got, err := os.ReadFile(filepath.Join(root, page))
	g.Expect(err).NotTo(HaveOccurred())
	if diff := cmp.Diff(table(all), string(got)); diff != "" {
		t.Errorf("%s is not current; run make dependencies (-want +got):\n%s", page, diff)
	}
}

// TestSBOM: a reader of SPDX finds each linked module, with its license, and the hash of the
// binary.
func TestSBOM(t *testing.T) {
	g := NewWithT(t)
	binary := filepath.Join(t.TempDir(), "oooi")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/oooi")
	build.Dir = root
	out, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	all, err := linked(root)
	g.Expect(err).NotTo(HaveOccurred())
	var first, second bytes.Buffer
	g.Expect(writeSBOM(&first, binary, all)).To(Succeed())
	g.Expect(writeSBOM(&second, binary, all)).To(Succeed())
	g.Expect(second.String()).To(Equal(first.String()))
	doc, err := spdxjson.Read(&first)
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, p := range doc.Packages {
		found[p.PackageName+" "+p.PackageVersion] = p.PackageLicenseDeclared
	}
	g.Expect(found).To(HaveKeyWithValue(HavePrefix("std 1."), "BSD-3-Clause"))
	for _, m := range all {
		g.Expect(found).To(HaveKey(m.Path+" "+m.Version), "linked and not listed")
	}
	g.Expect(doc.Packages).To(HaveLen(len(all)+2), "the binary, the standard library and its modules")
	g.Expect(doc.Packages[0].PackageChecksums[0].Value).To(HaveLen(64))
}

// TestSBOMOfAnotherBinary: what was built from another source gets no SBOM.
func TestSBOMOfAnotherBinary(t *testing.T) {
	g := NewWithT(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writeSBOM(&bytes.Buffer{}, self, nil)).To(MatchError(ContainSubstring("which the source has not")))
	g.Expect(writeSBOM(&bytes.Buffer{}, "main.go", nil)).To(MatchError(ContainSubstring("not a Go binary")))
}
