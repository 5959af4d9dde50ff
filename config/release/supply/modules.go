// Package supply finds the modules in a program of the project and their licenses, and writes the program's SBOM. This file
// finds the modules.
package supply

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// covered is the share of a license file that must be the text of known licenses, in percent.
const covered = 75

// Commands returns the main packages of the programs in a release, relative to the root of the project.
func Commands() []string { return []string{"./cmd/oooi", "./cmd/oooi-edge", "./cmd/oooi-apiproxy"} }

// A Module is one dependency of a program.
type Module struct {
	// Path and Version are as in go.mod. The standard library is "std" with Go's version, such as "1.26.8".
	Path, Version string
	// Licenses are SPDX identifiers, sorted, at least one.
	Licenses []string
	// Texts are the paths of the license and notice files in the root directory of the module.
	Texts []string
}

// Linked returns the modules of the packages that commands import on system/arch, such as linux/amd64. They are sorted by path, and
// the main module is left out. root is the root of the project. Linked returns an error for a module without a known license.
func Linked(root, system, arch string, commands ...string) ([]Module, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}"
	list := exec.Command("go", append([]string{"list", "-deps", "-f", format}, commands...)...)
	list.Dir, list.Stderr = root, os.Stderr
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules of %s: %w", strings.Join(commands, ", "), err)
	}
	lines := slices.Sorted(strings.Lines(string(out)))
	var all []Module
	for _, line := range slices.Compact(lines) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		m := Module{Path: fields[0], Version: fields[1]}
		if m.Licenses, m.Texts, err = licensesIn(fields[2]); err != nil {
			return nil, fmt.Errorf("module %s: %w", m.Path, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// StandardLibrary returns the standard library as a module.
func StandardLibrary() (Module, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return Module{}, fmt.Errorf("go env GOROOT: %w", err)
	}
	m := Module{Path: "std", Version: strings.TrimPrefix(runtime.Version(), "go")}
	m.Licenses, m.Texts, err = licensesIn(strings.TrimSpace(string(root)))
	return m, err
}

// licensesIn returns the licenses of the module in dir, and the paths of the license and notice files there.
func licensesIn(dir string) (licenses, texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !isLegal(name) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		texts = append(texts, path)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		cover := licensecheck.Scan(bytes.ToValidUTF8(text, nil))
		if strings.HasPrefix(name, "NOTICE") || cover.Percent < covered {
			continue
		}
		for _, m := range cover.Match {
			licenses = append(licenses, m.ID)
		}
	}
	slices.Sort(licenses)
	if licenses = slices.Compact(licenses); len(licenses) == 0 {
		return nil, nil, fmt.Errorf("no license file is recognized in %s", dir)
	}
	return licenses, texts, nil
}

func isLegal(name string) bool {
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, func(p string) bool { return strings.HasPrefix(name, p) })
}
