// This file estimates how long the remaining compilation takes, and how much disk the testbed needs. Estimates only: nothing depends
// on them but what people read.

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/testbed/host"
)

// work is a list of programs to compile, one after the other.
type work struct {
	missing []program
	cores   int
}

// settled is how many seconds of work it takes until the pace that was seen counts as much as the table's.
const settled = 60

func (p program) weight() float64 { return float64(max(p.cold, 2)) }

// forecast is how long all of it takes with an empty Go cache.
func (w work) forecast() time.Duration { return w.remaining(0, 0, 0, 0) }

// remaining is how long is left in that state: the programs before the one with this index are compiled, and this
// fraction of it, from 0 to 1; elapsed is since the start, current since the start of this program. What is left of this
// program is at least what its own pace says.
func (w work) remaining(index int, fraction float64, elapsed, current time.Duration) time.Duration {
	var all, done float64
	for i, p := range w.missing {
		all += p.weight()
		switch {
		case i < index:
			done += p.weight()
		case i == index:
			done += p.weight() * fraction
		}
	}
	pace := (elapsed.Seconds() + settled*2/float64(max(w.cores, 1))) / (done + settled) // seconds for one of the table's
	left := pace * (all - done)
	if fraction > 0.05 {
		left = max(left, current.Seconds()*(1-fraction)/fraction)
	}
	return time.Duration(left * float64(time.Second))
}

// A Forecast is the time and the disk that bringing up a testbed will need on this machine.
type Forecast struct {
	Missing, All int           // programs: those to compile, and all
	Time         time.Duration // to compile them, with an empty Go cache
	Disk         []Space
}

// A Space is a file system that the testbed writes to.
type Space struct {
	Dirs       []string // the directories on it
	Need, Free uint64   // bytes: what the testbed will still write there, and what is free
}

// Short reports whether there is less than it takes.
func (s Space) Short() bool { return s.Free < s.Need }

// String says it in GiB. The home directory of the user is ~.
func (s Space) String() string {
	const gib = 1 << 30
	dirs := slices.Clone(s.Dirs)
	if home, err := os.UserHomeDir(); err == nil {
		for i, d := range dirs {
			if below, found := strings.CutPrefix(d, home+"/"); found {
				dirs[i] = "~/" + below
			}
		}
	}
	return fmt.Sprintf("%.0f GiB of disk (%.0f GiB free, for %s)", float64(s.Need)/gib, float64(s.Free)/gib, strings.Join(dirs, ", "))
}

// Foresee says what it will take to compile programs, and to run a cluster that writes to stateDir.
func Foresee(ctx context.Context, stateDir string, names ...string) (Forecast, error) {
	_, missing, err := lookUp(ctx, names)
	if err != nil {
		return Forecast{}, err
	}
	f := Forecast{Missing: len(missing), All: len(names), Time: work{missing: missing, cores: runtime.NumCPU()}.forecast()}
	dirs, err := host.Output(exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE"))
	if err != nil {
		return Forecast{}, err
	}
	caches := strings.Fields(string(dirs))
	if len(caches) != 2 {
		return Forecast{}, fmt.Errorf("go env GOMODCACHE GOCACHE: %q", dirs)
	}
	part := float64(len(missing)) / float64(max(len(names), 1))
	var places []place
	for _, p := range []place{
		{dir: caches[0], need: part * 4}, {dir: caches[1], need: part * 6}, {dir: host.CacheDir(), need: part * 3}, {dir: stateDir, need: 3},
	} {
		if err := p.look(); err != nil {
			return Forecast{}, err
		}
		places = append(places, p)
	}
	f.Disk = spaces(places)
	return f, nil
}

// A place is a directory that is written to, and the file system that it is on.
type place struct {
	dir    string
	need   float64 // GiB
	device uint64
	free   uint64 // bytes
}

// look finds the file system. The directory need not exist: its first parent that does is asked.
func (p *place) look() error {
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		var stat unix.Stat_t
		var system unix.Statfs_t
		err := unix.Stat(dir, &stat)
		if err == nil {
			err = unix.Statfs(dir, &system)
		}
		if err == nil {
			p.device, p.free = stat.Dev, system.Bavail*uint64(system.Bsize)
			return nil
		}
		if dir == filepath.Dir(dir) || !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the file system of %s: %w", p.dir, err)
		}
	}
}

// spaces sums up what is needed on each file system, in the order of the places.
func spaces(places []place) []Space {
	var out []Space
	at := map[uint64]int{}
	for _, p := range places {
		i, ok := at[p.device]
		if !ok {
			i, at[p.device] = len(out), len(out)
			out = append(out, Space{Free: p.free})
		}
		out[i].Dirs = append(out[i].Dirs, p.dir)
		out[i].Need += uint64(p.need * (1 << 30))
	}
	return out
}
