// This file holds the tests: every fault with many seeds, and the worst seeds of each.

package simulation

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	// seedsVariable is how many seeds each fault is played with. Empty: fewSeeds.
	seedsVariable = "OOOI_SIMULATION"
	// tableVariable names a file that the worst outcomes are written to, as Markdown.
	tableVariable = "OOOI_SIMULATION_TABLE"
	fewSeeds      = 15
	// worstFile has the worst seeds of each fault.
	worstFile = "testdata/worst.txt"
)

func seeds(t *testing.T) uint64 {
	text := os.Getenv(seedsVariable)
	if text == "" {
		return fewSeeds
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("%s=%q is not a number of seeds", seedsVariable, text)
	}
	return n
}

// A result is what many seeds of one fault brought.
type result struct {
	gap, cuts, first outcome // the worst ones, and the first out of bounds
	bad              int
}

func (r *result) add(f fault, o outcome) {
	if o.gap > r.gap.gap {
		r.gap = o
	}
	if o.cuts > r.cuts.cuts {
		r.cuts = o
	}
	if f.within(o) {
		return
	}
	if r.bad == 0 || o.seed < r.first.seed {
		r.first = o
	}
	r.bad++
}

// playAll plays a fault with the seeds up to n, on all processors.
func (f fault) playAll(n uint64) result {
	var mu sync.Mutex
	var all sync.WaitGroup
	var r result
	step := uint64(runtime.GOMAXPROCS(0))
	for from := range step {
		all.Go(func() {
			for seed := from; seed < n; seed += step {
				o := f.play(seed, false)
				mu.Lock()
				r.add(f, o)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return r
}

// TestFaults simulates every fault. What VMs notice must be within the bounds of the table.
func TestFaults(t *testing.T) {
	n := seeds(t)
	var table, worst strings.Builder
	fmt.Fprintf(&table, "| fault (%d seeds each) | gap, s | bound | cuts | bound |\n| --- | --- | --- | --- | --- |\n", n)
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			r := f.playAll(n)
			t.Logf("worst gap %.2f s (seed %d), %d cuts (seed %d)", r.gap.gap.Seconds(), r.gap.seed, r.cuts.cuts, r.cuts.seed)
			fmt.Fprintf(&table, "| %s | %.2f | %.1f | %d | %d |\n", f.name, r.gap.gap.Seconds(), f.gap.Seconds(), r.cuts.cuts, f.cuts)
			fmt.Fprintf(&worst, "%d\t%d\t%s\n", r.gap.seed, r.cuts.seed, f.name)
			if r.bad > 0 {
				f.report(t, r)
			}
		})
	}
	write(t, os.Getenv(tableVariable), table.String())
	complete := strings.Count(worst.String(), "\n") == len(faults()) && !t.Failed()
	if complete && os.Getenv(tableVariable) != "" {
		write(t, worstFile, worst.String())
	}
}

// report fails with the story of the first seed out of bounds.
func (f fault) report(t *testing.T, r result) {
	t.Helper()
	t.Errorf("%s: %d seeds are out of bounds (%.1f s, %d cuts); seed %d: %.2f s, %d cuts, %d announcements, unrest %v\n%s", f.name, r.bad, f.gap.Seconds(), f.cuts,
		r.first.seed, r.first.gap.Seconds(), r.first.cuts, r.first.announcements, r.first.unrest, f.play(r.first.seed, true).story)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if path == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWorstSeeds simulates the seeds that were the worst of a long run.
func TestWorstSeeds(t *testing.T) {
	file, err := os.Open(worstFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	known := map[string]fault{}
	for _, f := range faults() {
		known[f.name] = f
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var gap, cuts uint64
		parts := strings.SplitN(lines.Text(), "\t", 3)
		if _, err := fmt.Sscanf(lines.Text(), "%d\t%d", &gap, &cuts); err != nil || len(parts) != 3 {
			t.Fatalf("%s: %q: want two seeds and a fault", worstFile, lines.Text())
		}
		f, ok := known[parts[2]]
		if !ok {
			t.Errorf("%s names the fault %q, which is unknown", worstFile, parts[2])
			continue
		}
		delete(known, parts[2])
		for _, seed := range []uint64{gap, cuts} {
			if o := f.play(seed, false); !f.within(o) {
				f.report(t, result{first: o, bad: 1})
			}
		}
	}
	for name := range known {
		t.Errorf("%s has no seed of the fault %q", worstFile, name)
	}
}

// TestOneWorld simulates the seed in OOOI_SIMULATION_SEED of the fault in OOOI_SIMULATION_FAULT, and prints the events.
func TestOneWorld(t *testing.T) {
	name := os.Getenv("OOOI_SIMULATION_FAULT")
	if name == "" {
		t.Skip("OOOI_SIMULATION_FAULT names no fault")
	}
	seed, err := strconv.ParseUint(os.Getenv("OOOI_SIMULATION_SEED"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults() {
		if f.name == name {
			o := f.play(seed, true)
			t.Logf("%.2f s, %d cuts, %d announcements\n%s", o.gap.Seconds(), o.cuts, o.announcements, o.story)
			return
		}
	}
	t.Fatalf("OOOI_SIMULATION_FAULT=%q: no such fault", name)
}
