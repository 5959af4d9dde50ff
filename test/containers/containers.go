// Package containers gives a process what its container in an edge's pod holds: its directories, of which
// it writes its own, and the token if it has one. It needs root.
package containers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

// A Pod is the run directory of an edge that tests run as processes.
type Pod struct {
	// Dir has a directory for each program, as the pod has volumes.
	Dir      string
	Services []network.Service
	// Secrets is the directory of the service account's files.
	Secrets string
	// flat: the programs are of a version that has one directory for all.
	flat bool
}

// NewPod creates the directories in dir for user, and an oooi program that runs in it.
func NewPod(t testing.TB, dir, oooi string, user int, services []network.Service, secrets string) Pod {
	t.Helper()
	help, _ := exec.CommandContext(t.Context(), oooi, "dns", "--help").CombinedOutput()
	p := Pod{Dir: dir, Services: services, Secrets: secrets, flat: !strings.Contains(string(help), "--watched-by")}
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
	if p.flat {
		p.link(t)
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// link lets programs with one directory and those with several find each other's files.
func (p Pod) link(t testing.TB) {
	t.Helper()
	links := map[string]string{
		"admin.sock":                              "envoy/admin.sock",
		wire.LeaseCache:                           "dhcp/" + wire.LeaseCache,
		relative(envoy.XDSSocket("/")):            "../xds.sock",
		relative(wire.Socket("/", wire.Failover)): "../failover.sock",
	}
	for _, s := range p.Services {
		links[relative(wire.Socket("/", string(s)))] = "../" + string(s) + ".sock"
	}
	for link, to := range links {
		if err := os.Symlink(to, filepath.Join(p.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
}

func relative(path string) string { return strings.TrimPrefix(path, "/") }

// Watching returns the flags that tell the named program how it follows the plan.
func (p Pod) Watching(program string) []string {
	if p.flat {
		return []string{"--watch"}
	}
	return wire.WatchArguments(p.Services, program)
}

// Mounts returns shell commands for a process of the named program in a mount namespace of its
// own, joined by &&. After them, wire.RunDir is what its container sees.
func (p Pod) Mounts(program string) string {
	lines := []string{"mount -t tmpfs none /run"}
	bind := func(from, at, options string) {
		lines = append(lines, "mkdir -p "+at, "mount --bind "+from+" "+at, "mount -o remount,bind"+options+" "+at)
	}
	if p.flat {
		bind(p.Dir, wire.RunDir, "")
	} else {
		for _, m := range wire.RunMounts(p.Services, program) {
			options := ""
			if m.ReadOnly {
				options = ",ro"
			}
			bind(wire.Dir(p.Dir, m.Name), wire.Dir(wire.RunDir, m.Name), options)
		}
	}
	if p.flat || slices.Equal(p.Watching(program), []string{"--watch"}) {
		lines = append(lines, "mkdir -p "+wire.TokenDir, "cp "+p.Secrets+"/* "+wire.TokenDir)
	}
	return strings.Join(lines, " && ")
}
