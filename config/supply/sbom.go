// This file writes the SBOM of a binary.

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// writeSBOM writes the SBOM of the binary in file. known are the modules of the source. It
// is an error if the binary has a module that is not among them: then it was built from
// another source. Equal binaries give equal SBOMs, so the SBOM has the binary's hash where
// others have the time.
func writeSBOM(w io.Writer, file string, known []module) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: not a Go binary: %w", file, err)
	}
	var parts []module
	for _, d := range info.Deps {
		i := slices.IndexFunc(known, func(m module) bool { return m.Path == d.Path && m.Version == d.Version })
		if i < 0 {
			return fmt.Errorf("%s has module %s %s, which the source has not: build it again", file, d.Path, d.Version)
		}
		parts = append(parts, known[i])
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return spdxjson.Write(document(info.Main.Path, info.GoVersion, hex.EncodeToString(sum[:]), parts), w, spdxjson.Indent("  "))
}

// document describes the binary with this hash, which contains parts.
func document(path, goVersion, sum string, parts []module) *spdx.Document {
	binary := &spdx.Package{
		PackageName: path, PackageSPDXIdentifier: "oooi", PackageDownloadLocation: "NOASSERTION", PackageLicenseDeclared: "Apache-2.0",
		PackageChecksums: []spdx.Checksum{{Algorithm: spdx.SHA256, Value: sum}}, PrimaryPackagePurpose: "APPLICATION",
	}
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: "oooi",
		DocumentNamespace: "https://" + path + "/sbom/" + sum,
		CreationInfo:      &spdx.CreationInfo{Created: "1970-01-01T00:00:00Z", Creators: []spdx.Creator{{CreatorType: "Tool", Creator: path + "/config/supply"}}},
		Packages:          []*spdx.Package{binary},
	}
	relate := func(from common.ElementID, kind string, to common.ElementID) {
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{
			RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: to}, Relationship: kind})
	}
	relate("DOCUMENT", "DESCRIBES", "oooi")
	parts = append([]module{{Path: "std", Version: strings.TrimPrefix(goVersion, "go"), Licenses: []string{"BSD-3-Clause"}}}, parts...)
	for i, m := range parts {
		p := packageOf(m, common.ElementID(fmt.Sprint("module-", i)))
		doc.Packages = append(doc.Packages, p)
		relate("oooi", "CONTAINS", p.PackageSPDXIdentifier)
	}
	return doc
}

func packageOf(m module, id common.ElementID) *spdx.Package {
	return &spdx.Package{
		PackageName: m.Path, PackageVersion: m.Version, PackageSPDXIdentifier: id, PackageDownloadLocation: "NOASSERTION",
		PackageLicenseDeclared: strings.Join(m.Licenses, " AND "),
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: "PACKAGE-MANAGER", RefType: "purl", Locator: "pkg:golang/" + m.Path + "@" + m.Version}},
	}
}
