// Command supply tells what oooi is made of: the modules that are linked into the binary,
// with their licenses. It writes docs/dependencies.md, and an SBOM of a binary in SPDX 2.3.
// It runs in this directory, which is a Go module of its own, so that the operator does
// not depend on its dependencies. go.mod also pins govulncheck (`make vulncheck`).
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// root is the directory of the project, seen from this one.
const root = "../.."

// page is the file below root that lists the dependencies.
const page = "docs/dependencies.md"

const usage = `usage: supply dependencies | supply sbom BINARY`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "supply: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "dependencies":
		all, err := linked(root)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, page), []byte(table(all)), 0o644)
	case len(args) == 2 && args[0] == "sbom":
		all, err := linked(root)
		if err != nil {
			return err
		}
		return writeSBOM(os.Stdout, args[1], all)
	}
	return fmt.Errorf("unknown arguments; %s", usage)
}
