// This file compiles the project's own programs as a release does.

package build

import (
	"context"
	"path/filepath"

	released "github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/ntp"
	"github.com/cldmnky/oooi/test/testbed/host"
)

// ProjectProgram compiles one of the project's programs as `make build` does, and returns its path. It uses only Go's build cache.
// version is what the program reports as its version. Empty: none. If the clock of this host is not synchronized, edges are
// compiled with a clock that counts as synchronized. Otherwise they would not serve the time.
func ProjectProgram(ctx context.Context, program, version string) (string, error) {
	root, err := host.ProjectDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(host.CacheDir(), "oooi", version, program)
	if version != "" {
		version = "v" + version
	}
	return binary, own(root, program, PlaysClock()).Compile(ctx, released.Host(), version, binary)
}

// PlayedClock is the build tag of edges whose clock counts as synchronized. No release has it.
const PlayedClock = "oooi_played_clock"

// PlaysClock reports whether edges on this host are compiled with PlayedClock, because the kernel's clock is not synchronized.
func PlaysClock() bool {
	state, err := ntp.Kernel()
	return err != nil || !state.Synchronized
}

// own returns one of the project's programs as it is released. If playsClock is true, edges have the tag PlayedClock.
func own(root, name string, playsClock bool) released.Program {
	p := released.Own(root, "./cmd/"+name)
	if playsClock && name == "oooi-edge" {
		p.Tags += " " + PlayedClock
	}
	return p
}
