// Command bundle writes bundle/, the operator as the Operator Lifecycle Manager
// installs it (registry+v1), from config/ and the few texts beside this file.
// Nothing in bundle/ is edited by hand; a test holds that it is fresh. It runs in this directory (`make bundle`), which is a
// Go module of its own: what it needs is not a dependency of the operator.
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

// write replaces bundle/ below the root of the project.
func write(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	out := filepath.Join(root, "bundle")
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
