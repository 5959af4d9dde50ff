// This file finds the modules that are linked into the binary, and their licenses.

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// covered is how much of a license file must be text of known licenses, in percent.
const covered = 75

// A module is one dependency of the binary.
type module struct {
	// Path and Version as in go.mod.
	Path, Version string
	// Licenses are SPDX identifiers, sorted, at least one.
	Licenses []string
}

// linked returns the modules of the packages that cmd/oooi imports, sorted by path, without
// the main module. It is an error if one has no license that is recognized.
func linked(root string) ([]module, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/oooi")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules of cmd/oooi: %w", err)
	}
	lines := slices.Sorted(strings.Lines(string(out)))
	var all []module
	for _, line := range slices.Compact(lines) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		licenses, err := licensesIn(fields[2])
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", fields[0], err)
		}
		all = append(all, module{Path: fields[0], Version: fields[1], Licenses: licenses})
	}
	return all, nil
}

// licensesIn returns the licenses of the module in dir, from the license files at its top.
func licensesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		cover := licensecheck.Scan(bytes.ToValidUTF8(text, nil))
		if cover.Percent < covered {
			continue
		}
		for _, m := range cover.Match {
			found = append(found, m.ID)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return nil, fmt.Errorf("no license file is recognized in %s", dir)
	}
	return found, nil
}

// table returns the page of the dependencies.
func table(all []module) string {
	var b strings.Builder
	b.WriteString("# Dependencies\n\nThe Go modules that are linked into the `oooi` binary, with their SPDX license identifiers.\n" +
		"`make dependencies` writes this page. `make sbom` writes an SBOM in SPDX 2.3. `make vulncheck` looks for known vulnerabilities.\n\n" +
		"| module | version | license |\n| --- | --- | --- |\n")
	for _, m := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Path, m.Version, strings.Join(m.Licenses, ", "))
	}
	return b.String()
}
