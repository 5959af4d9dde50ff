// This file writes the SBOM of a program.

package supply

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// WriteSBOM writes the SBOM of the program in file. Parameter known has the modules of the source. If the program contains
// any other module, it was built from another source, and WriteSBOM returns an error. version, such as "v0.1.0", and
// created are those of the release, so that equal releases have equal SBOMs.
func WriteSBOM(w io.Writer, file string, known []Module, version string, created time.Time) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: not a Go binary: %w", file, err)
	}
	var parts []Module
	for _, d := range info.Deps {
		i := slices.IndexFunc(known, func(m Module) bool { return m.Path == d.Path && m.Version == d.Version })
		if i < 0 {
			return fmt.Errorf("%s has module %s %s, which is not in the source: build it again", file, d.Path, d.Version)
		}
		parts = append(parts, known[i])
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	main := mainPackage(info, version, hex.EncodeToString(sum[:]))
	parts = append([]Module{standardLibrary(info)}, parts...)
	return spdxjson.Write(document(main, created, parts), w, spdxjson.Indent("  "))
}

const (
	// tool is the creator in an SBOM.
	tool = "https://github.com/cldmnky/oooi/config/release"
	// supplier is the supplier of the programs. Those of modules are not known.
	supplier = "cldmnky"
)

func mainPackage(info *buildinfo.BuildInfo, version, sum string) *spdx.Package {
	dir := strings.TrimPrefix(info.Path, info.Main.Path+"/")
	return &spdx.Package{
		PackageName: info.Path, PackageVersion: version, PackageSPDXIdentifier: "program", PackageDownloadLocation: "NOASSERTION",
		PackageSupplier: &spdx.Supplier{SupplierType: "Organization", Supplier: supplier}, PackageLicenseDeclared: "Apache-2.0",
		PackageChecksums: []spdx.Checksum{{Algorithm: spdx.SHA256, Value: sum}}, PrimaryPackagePurpose: "APPLICATION",
		PackageExternalReferences: purl(info.Main.Path + "@" + version + "#" + dir),
	}
}

// standardLibrary returns the standard library as a module, with the name that vulnerability databases use.
func standardLibrary(info *buildinfo.BuildInfo) Module {
	return Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go"), Licenses: []string{"BSD-3-Clause"}}
}

func document(main *spdx.Package, created time.Time, parts []Module) *spdx.Document {
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: path.Base(main.PackageName),
		DocumentNamespace: "https://" + main.PackageName + "/sbom/" + main.PackageChecksums[0].Value,
		CreationInfo:      &spdx.CreationInfo{Created: created.UTC().Format(time.RFC3339), Creators: []spdx.Creator{{CreatorType: "Tool", Creator: tool}}},
		Packages:          []*spdx.Package{main},
	}
	relate := func(from common.ElementID, kind string, to common.ElementID) {
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{
			RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: to}, Relationship: kind})
	}
	relate("DOCUMENT", "DESCRIBES", main.PackageSPDXIdentifier)
	for i, m := range parts {
		p := packageOf(m, common.ElementID(fmt.Sprint("module-", i)))
		doc.Packages = append(doc.Packages, p)
		relate(main.PackageSPDXIdentifier, "CONTAINS", p.PackageSPDXIdentifier)
	}
	return doc
}

func packageOf(m Module, id common.ElementID) *spdx.Package {
	return &spdx.Package{
		PackageName: m.Path, PackageVersion: m.Version, PackageSPDXIdentifier: id, PackageDownloadLocation: "NOASSERTION",
		PackageLicenseDeclared: strings.Join(m.Licenses, " AND "),
		PackageSupplier:        &spdx.Supplier{Supplier: "NOASSERTION"}, PackageExternalReferences: purl(m.Path + "@" + m.Version),
	}
}

func purl(name string) []*spdx.PackageExternalReference {
	return []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: "pkg:golang/" + name}}
}
