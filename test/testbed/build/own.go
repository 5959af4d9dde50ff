// This project's own programs, as they are released.

package build

import (
	"context"
	"path/filepath"

	released "github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/ntp"
	"github.com/cldmnky/oooi/test/testbed/host"
)

// ProjectProgram compiles one of this project's programs as `make build` does, by Go's own cache each time, and returns its path.
// The program says that it is of that version; "" means that it is of none. Where the clock of this machine is not
// synchronized, edges are compiled with a clock that acts as if it were: otherwise they serve no time.
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

// PlaysClock reports whether edges on this machine play a synchronized clock: the kernel says that its own is not.
func PlaysClock() bool {
	state, err := ntp.Kernel()
	return err != nil || !state.Synchronized
}

// own is one of this project's programs as it is released, except for the clock of edges.
func own(root, name string, playsClock bool) released.Program {
	p := released.Own(root, "./cmd/"+name)
	if playsClock && name == "oooi-edge" {
		p.Tags += " " + PlayedClock
	}
	return p
}
