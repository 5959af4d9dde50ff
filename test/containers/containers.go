// Package containers gives a process what its container in an edge's pod holds: its directories, of which
// it writes its own, and the token if it has one. It needs root.
package containers

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// A Pod is the run directory of an edge that tests run as processes.
type Pod struct {
	// Dir has one directory for each program, like the volumes of the pod.
	Dir      string
	Services []network.Service
	// Secrets is the directory of the service account's files.
	Secrets string
	// older: the program is of a version that had the containers' own commands below `edge`.
	older bool
}

// NewPod creates the directories in dir for user. The file program is oooi-edge, or an older oooi.
func NewPod(t testing.TB, dir, program string, user int, services []network.Service, secrets string) Pod {
	t.Helper()
	err := exec.CommandContext(t.Context(), program, wire.Failover, "--help").Run()
	p := Pod{Dir: dir, Services: services, Secrets: secrets, older: err != nil}
	names := []string{wire.XDS, wire.Envoy, wire.Failover}
	for _, s := range services {
		names = append(names, string(s))
	}
	for _, name := range names {
		at := wire.Dir(dir, name)
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(at, user, user); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Command returns the subcommand, and its own arguments, that start the named program.
func (p Pod) Command(program string) []string {
	switch {
	case program == string(network.ServiceProxy):
		return []string{program, "--no-envoy"}
	case program == wire.Failover && p.older:
		return []string{"edge", program}
	}
	return []string{program}
}

// Probe returns the arguments that ask the named program whether it is ready.
func (p Pod) Probe(program string) []string {
	args := []string{"probe", program, "--run-dir", p.Dir}
	if p.older {
		return append([]string{"edge"}, args...)
	}
	return args
}

// Mounts returns shell commands for a process of the named program in a mount namespace of its
// own, joined by &&. After them, wire.RunDir is what its container sees.
func (p Pod) Mounts(program string) string {
	lines := []string{"mount -t tmpfs none /run"}
	bind := func(from, at, options string) {
		lines = append(lines, "mkdir -p "+at, "mount --bind "+from+" "+at, "mount -o remount,bind"+options+" "+at)
	}
	for _, m := range wire.RunMounts(network.Network{Services: p.Services}, program) {
		options := ""
		if m.ReadOnly {
			options = ",ro"
		}
		bind(wire.Dir(p.Dir, m.Name), wire.Dir(wire.RunDir, m.Name), options)
	}
	if slices.Equal(wire.WatchArguments(p.Services, program), []string{"--watch"}) {
		lines = append(lines, "mkdir -p "+wire.TokenDir, "cp "+p.Secrets+"/* "+wire.TokenDir)
	}
	return strings.Join(lines, " && ")
}
