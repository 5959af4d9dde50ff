// This file counts the packages that must be compiled for programs of several modules, without compiling them.

package compile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Units are packages to compile. A package in two versions, or with a dependency in two versions, counts twice.
type Units struct {
	Packages int
	Bytes    int64 // of their Go files
}

// Plus returns the sum of u and v.
func (u Units) Plus(v Units) Units { return Units{u.Packages + v.Packages, u.Bytes + v.Bytes} }

// A Counter counts the units of builds that use one Go build cache, which is empty at first. It ignores the standard library.
// The zero value is ready for use.
type Counter struct{ seen map[unit]bool }

// A unit is a hash of all that identifies a package in the build cache, except for flags.
type unit [sha256.Size]byte

// listed is a package in the output of `go list -json`.
type listed struct {
	ImportPath, Dir   string
	Standard          bool
	GoFiles, CgoFiles []string
	Imports           []string
	ImportMap         map[string]string
	Module            *module
}

type module struct {
	Path, Version string
	Replace       *module
}

// Add returns the units of b that no earlier build had.
func (c *Counter) Add(ctx context.Context, b Build) (Units, error) {
	if c.seen == nil {
		c.seen = map[unit]bool{}
	}
	arguments := append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,CgoFiles,Imports,ImportMap,Module"}, b.Flags...)
	out, err := b.watch(ctx, append(arguments, b.Package), func(string) bool { return true }, func() {})
	if err != nil {
		return Units{}, err
	}
	var sum Units
	units := map[string]unit{}
	for packages := json.NewDecoder(strings.NewReader(out)); ; { // Each package comes after its imports.
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return sum, nil
		} else if err != nil {
			return Units{}, err
		}
		if p.Standard {
			continue
		}
		u := p.unit(b.Dir, units)
		units[p.ImportPath] = u
		if c.seen[u] {
			continue
		}
		c.seen[u] = true
		size, err := p.size()
		if err != nil {
			return Units{}, err
		}
		sum = sum.Plus(Units{1, size})
	}
}

// unit returns a hash of what go hashes: the import path, the version in go.mod (even if it is replaced), the files, and the
// units of imports. Packages of the main module have no version, so their directory is hashed.
func (p listed) unit(dir string, imports map[string]unit) unit {
	h := sha256.New()
	fmt.Fprintln(h, p.ImportPath, p.GoFiles, p.CgoFiles)
	if m := p.Module; m != nil {
		fmt.Fprintln(h, m.Path, m.Version)
		if m.Version == "" {
			fmt.Fprintln(h, dir)
		}
		if r := m.Replace; r != nil && (r.Path != m.Path || r.Version != m.Version) {
			fmt.Fprintln(h, r.Path, r.Version)
		}
	}
	for _, path := range p.Imports {
		if mapped, ok := p.ImportMap[path]; ok {
			path = mapped
		}
		u := imports[path] // zero for the standard library
		h.Write(u[:])
	}
	return unit(h.Sum(nil))
}

// size returns the size of the Go files of p, in bytes.
func (p listed) size() (int64, error) {
	var sum int64
	for _, files := range [][]string{p.GoFiles, p.CgoFiles} {
		for _, name := range files {
			info, err := os.Stat(filepath.Join(p.Dir, name))
			if err != nil {
				return 0, err
			}
			sum += info.Size()
		}
	}
	return sum, nil
}
