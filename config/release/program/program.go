// Package program compiles the released programs. Releases, `make build` and tests use it. Equal sources and the same version
// of Go give equal programs.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A Target is a platform for which programs are compiled, such as linux and amd64.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "_" + t.Arch }

// Host is the platform of this machine.
func Host() Target { return Target{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// A Program says what to compile, and how.
type Program struct {
	// Name is the file name. Command is the main package, relative to Module, the directory of a Go module.
	Name, Module, Command string
	// Tags are build tags, separated by spaces.
	Tags string
	// FIPS is true to enable FIPS 140-3 mode by default, with the frozen version of Go's cryptographic module.
	FIPS bool
	// Symbols is true to keep the symbol table, which makes a program larger. govulncheck reads it.
	Symbols bool
}

// Own returns the program of this project whose package is command, such as "./cmd/oooi". root is the root of the project.
// With its build tag, gRPC does not link text/template, which would make the linker keep all methods of all types: 20 MB.
func Own(root, command string) Program {
	return Program{Name: filepath.Base(command), Module: root, Command: command, Tags: "grpcnotrace", FIPS: true}
}

// Opm returns the program opm, in the version that config/opm pins. With its build tags, it needs no C libraries.
func Opm(root string) Program {
	return Program{Name: "opm", Module: filepath.Join(root, "config", "opm"), Command: "github.com/operator-framework/operator-registry/cmd/opm",
		Tags: "containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper exclude_graphdriver_overlay"}
}

// Compile compiles p for t, and writes it to file out. version is what --version prints, such as "v0.1.0". If version is
// empty, --version prints Go's build information. The environment does not affect the result.
func (p Program) Compile(ctx context.Context, t Target, version, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	module, flags := "off", ""
	if p.FIPS {
		module = "v1.0.0"
	}
	if !p.Symbols {
		flags = "-s -w"
	}
	if version != "" {
		flags += " -X github.com/cldmnky/oooi/version.built=" + version
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-tags", p.Tags, "-ldflags", flags, "-o", out, p.Command)
	cmd.Dir = p.Module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.OS, "GOARCH="+t.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140="+module,
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s for %s: %w: %s", p.Name, t, err, strings.TrimSpace(string(text)))
	}
	return nil
}
