// Package program compiles the programs that are released, in the same way for everyone: for a release, for
// `make build` and for tests. Equal sources and the same Go version give equal programs.
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

// A Target is a platform that programs are compiled for, such as linux and amd64.
type Target struct{ OS, Arch string }

func (t Target) String() string { return t.OS + "_" + t.Arch }

// Host is the platform of this machine.
func Host() Target { return Target{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// A Program is what to compile, and how.
type Program struct {
	// Name of the file. Command is its package, seen from Module, the directory of a Go module.
	Name, Module, Command string
	// Tags are build tags, separated by spaces.
	Tags string
	// FIPS turns FIPS 140-3 mode on by default, with the frozen version of Go's cryptographic module.
	FIPS bool
	// Symbols keeps the names of functions, which make a program larger. govulncheck reads them.
	Symbols bool
}

// Own is a program of this project, such as the one of the package "./cmd/oooi". root is the directory of the project.
// Without its tag, gRPC links text/template, so that the linker keeps all methods of all types: 20 MB more.
func Own(root, command string) Program {
	return Program{Name: filepath.Base(command), Module: root, Command: command, Tags: "grpcnotrace", FIPS: true}
}

// Opm is opm, in the version that config/opm pins. Without the tags it needs C libraries.
func Opm(root string) Program {
	return Program{Name: "opm", Module: filepath.Join(root, "config", "opm"), Command: "github.com/operator-framework/operator-registry/cmd/opm",
		Tags: "containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper exclude_graphdriver_overlay"}
}

// Compile builds p for t as the file out. version is what --version prints, such as "v0.1.0". Empty: Go's own build information. What else changes
// a build is set here, so that the environment does not.
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
