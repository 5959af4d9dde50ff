// Package program compiles the released programs. A release, `make build` and tests compile them in the same way. Equal
// sources and the same Go version give equal programs.
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
	// Name of the file. Command is its package, relative to Module, the directory of a Go module.
	Name, Module, Command string
	// Tags are build tags, separated by spaces.
	Tags string
	// FIPS turns FIPS 140-3 mode on by default, with the frozen version of Go's cryptographic module.
	FIPS bool
	// Symbols keeps the names of functions, which make a program larger. govulncheck reads them.
	Symbols bool
}

// Own returns a program of this project, such as that of package "./cmd/oooi". root is the directory of the project.
// The build tag keeps gRPC from linking text/template, which makes the linker keep all methods of all types: 20 MB more.
func Own(root, command string) Program {
	return Program{Name: filepath.Base(command), Module: root, Command: command, Tags: "grpcnotrace", FIPS: true}
}

// Opm returns the program opm, in the version that config/opm pins. Without the tags it would need C libraries.
func Opm(root string) Program {
	return Program{Name: "opm", Module: filepath.Join(root, "config", "opm"), Command: "github.com/operator-framework/operator-registry/cmd/opm",
		Tags: "containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper exclude_graphdriver_overlay"}
}

// Compile builds p for t as the file out. version is what --version prints, such as "v0.1.0". Empty: Go's own build
// information. Compile also sets everything else that affects a build, so that the environment does not.
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
