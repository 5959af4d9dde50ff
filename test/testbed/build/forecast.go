// This file estimates how long the remaining compilation takes, and how much disk space the testbed needs. The estimates are only
// printed.

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

// settled is how many seconds of work must be done until the measured pace counts as much as the assumed one.
const settled = 60

func (p program) weight() float64 { return float64(max(p.cold, 2)) }

// A mark is a point of the compilation: the time since its start, the work that is done, and the pace. Work is in seconds of the
// table in programs.go. The pace is how many seconds one second of the table takes here.
type mark struct {
	elapsed    time.Duration
	done, pace float64
}

// start returns the first mark. Its pace is assumed: the table was measured on two cores.
func (w work) start() mark { return mark{pace: 2 / float64(max(w.cores, 1))} }

// at returns the mark after last. Its pace is between that of last and the pace since then.
func (w work) at(last mark, elapsed time.Duration, index int, fraction float64) mark {
	m := mark{elapsed: elapsed, done: w.weightOf(w.missing[:index])}
	if index < len(w.missing) {
		m.done += w.missing[index].weight() * fraction
	}
	m.pace = ((elapsed - last.elapsed).Seconds() + settled*last.pace) / (m.done - last.done + settled)
	return m
}

func (w work) weightOf(all []program) (out float64) {
	for _, p := range all {
		out += p.weight()
	}
	return out
}

// forecast returns how long all of w takes with an empty Go build cache.
func (w work) forecast() time.Duration { return w.remaining(w.start(), 0, 0) }

// remaining returns how long the rest of w takes at m. fraction of the current program is compiled, from 0 to 1, which took the
// time current. The rest of this program takes at least as long as its own pace predicts.
func (w work) remaining(m mark, fraction float64, current time.Duration) time.Duration {
	left := m.pace * (w.weightOf(w.missing) - m.done)
	if fraction > 0.05 {
		left = max(left, current.Seconds()*(1-fraction)/fraction)
	}
	return time.Duration(left * float64(time.Second))
}

// A Forecast is the time and the disk space that a testbed will need on this host.
type Forecast struct {
	Missing, All int           // programs: those to compile, and all
	Time         time.Duration // to compile them, with an empty Go build cache, on an idle host
	Load         float64       // load average of the last 15 minutes
	Disk         []Space
}

// Slower returns how many times as long as Time the compilation takes under the load of this host, with so many cores.
func (f Forecast) Slower(cores int) float64 { return (f.Load + float64(cores)) / float64(cores) }

// A Space is a file system that the testbed writes to.
type Space struct {
	Dirs       []string // the directories on it
	Need, Free uint64   // bytes that the testbed will still write there, and that are free
}

// Short reports whether less is free than the testbed needs.
func (s Space) Short() bool { return s.Free < s.Need }

// String returns s as text, in GiB. The home directory of the user is ~.
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

// Foresee returns the forecast for compiling the programs with these names, and for running a cluster that writes to stateDir.
func Foresee(ctx context.Context, stateDir string, names ...string) (Forecast, error) {
	_, missing, err := lookUp(ctx, names)
	if err != nil {
		return Forecast{}, err
	}
	f := Forecast{Missing: len(missing), All: len(names), Time: work{missing: missing, cores: runtime.NumCPU()}.forecast()}
	var system unix.Sysinfo_t
	if err := unix.Sysinfo(&system); err != nil {
		return Forecast{}, err
	}
	f.Load = float64(system.Loads[2]) / (1 << 16) // sysinfo(2)
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

// look finds the file system of p. If the directory does not exist, it uses the first parent that does.
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

// spaces returns the sum of what places need on each file system, in the order of places.
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
