// This file holds where the command line program compiles: releases have it for other platforms than Linux.

package rules

import (
	"go/build"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linuxOnly are packages whose constants exist on Linux only, or have other values elsewhere.
func linuxOnly() []string { return []string{"golang.org/x/sys/unix", "syscall"} }

// TestTheCommandLineUsesNoLinux: no package of the project that the command line program links imports what only Linux has, where
// releases have it for another platform. make release-dry-run compiles it for each.
func TestTheCommandLineUsesNoLinux(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, system := range []string{"darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", "./cmd/oooi")
		list.Dir = root
		list.Env = append(list.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		context := build.Default
		context.GOOS, context.CgoEnabled = system, false
		found := 0
		for _, path := range strings.Fields(string(out)) {
			dir, ours := strings.CutPrefix(path, module)
			if !ours || slices.Contains([]string{"cmd/oooi/localaccess", "cmd/oooi/command"}, dir) { // They take the signals that each platform has.
				continue
			}
			found++
			p, err := context.ImportDir(filepath.Join(root, filepath.FromSlash(dir)), 0)
			if err != nil {
				t.Errorf("%s on %s: %v", dir, system, err)
				continue
			}
			for _, not := range linuxOnly() {
				if slices.Contains(p.Imports, not) {
					t.Errorf("%s imports %s on %s", dir, not, system)
				}
			}
		}
		if found < 10 {
			t.Errorf("%d packages were found", found)
		}
	}
}
