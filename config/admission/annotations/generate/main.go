// Command generate writes the policies for annotations. Its argument is the root of the project. It decides nothing.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cldmnky/oooi/config/admission/annotations"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIRECTORY")
		os.Exit(2)
	}
	for name, text := range annotations.Files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}
