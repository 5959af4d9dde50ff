// Command bundle writes bundle/, the operator's package for the Operator Lifecycle Manager (OLM) in the format registry+v1.
// It generates the files from config/ and from the templates in this directory. It also writes the sample that installs the
// bundle with OLM v1. These files are not edited by hand; a test checks that they are current.
//
// The command runs in this directory (`make bundle`). The directory is a Go module of its own, so that its dependencies do
// not become those of the operator.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "bundle: "+err.Error())
		os.Exit(1)
	}
}

// write replaces bundle/ and the sample for OLM v1 below root, the root of the project.
func write(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, "bundle")); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
