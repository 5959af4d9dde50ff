// This file runs the rounds, and writes the table and which goals are met.

package accessbench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

const (
	// idle is how many tunnels wait while memory is read.
	idle  = 900
	round = time.Second
)

// A kind is one load, and whether a stream runs through the same way meanwhile.
type kind struct {
	name   string
	kind   string
	count  int
	beside bool
}

func kinds() []kind {
	return []kind{
		{"down", "down", 1, false}, {"down, 8", "down", 8, false}, {"up", "up", 1, false}, {"up, 8", "up", 8, false},
		{"round trip", "echo", 1, false}, {"round trip beside a stream", "echo", 1, true}, {"dial", "dial", 1, false},
	}
}

// A cost is what one way did with one kind of load, in all rounds.
type cost struct {
	rates         []float64 // GB/s
	medians, p99s []time.Duration
	bytes         int64
	cpu           time.Duration
}

// A result is all that was measured of one way. Memory is in bytes: of its processes, and for each idle tunnel.
type result struct {
	costs          map[string]*cost
	itself, tunnel int64
}

// TestAccessBench measures for $OOOI_ACCESS_ROUNDS rounds. It fails if a goal is missed.
func TestAccessBench(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("OOOI_ACCESS_ROUNDS"))
	if err != nil {
		t.Skip("OOOI_ACCESS_ROUNDS is not set: `make bench-access` does")
	}
	length := round
	if text := os.Getenv("OOOI_ACCESS_ROUND"); text != "" {
		length, err = time.ParseDuration(text)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	s := newSite(t)
	ways := s.ways(t)
	results := map[string]*result{}
	for _, w := range ways {
		// What a way allocates for its first connections does not count as memory of idle tunnels.
		w.load.Kind, w.load.Count, w.load.For = "dial", 1, length/4
		NewWithT(t).Eventually(func() string { return s.load(t, w.load).Failed }, "20s", "50ms").Should(BeEmpty(), w.name)
		results[w.name] = &result{costs: map[string]*cost{}}
		if len(w.pids) > 0 {
			s.weigh(t, w, results[w.name])
		}
	}
	for _, k := range kinds() {
		for i := range rounds {
			// Each is the first one in turn, so that each is next to each other one.
			for j := range ways {
				w := ways[(i+j)%len(ways)]
				if results[w.name].costs[k.name] == nil {
					results[w.name].costs[k.name] = &cost{}
				}
				s.measure(t, w, k, length, results[w.name].costs[k.name])
			}
		}
	}
	vms := s.measureVMs(t, ways[1], rounds, length)
	text := tableOf(ways, results) + "\n" + vmsTable(vms) + "\n" + goalsOf(t, results, vms)
	t.Log("\n" + text)
	if file := os.Getenv("OOOI_ACCESS_TABLE"); file != "" {
		NewWithT(t).Expect(os.WriteFile(file, []byte(text), 0o644)).To(Succeed())
	}
}

// client is the process that puts a load on a way, in the pod.
func (s site) client(t *testing.T, l load) *exec.Cmd {
	t.Helper()
	return s.clientIn(t, s.pod, l)
}

func (s site) clientIn(t *testing.T, n *netns.Namespace, l load) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(l)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	self, env := programs.Self(t)
	c := n.Command(t.Context(), self, "load", string(text))
	c.Env, c.Stderr = env, t.Output()
	return c
}

// load runs a load on a way, and returns its result.
func (s site) load(t *testing.T, l load) (out report) {
	t.Helper()
	text, err := s.client(t, l).Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(json.Unmarshal(text, &out)).To(Succeed())
	return out
}

// measure adds one round.
func (s site) measure(t *testing.T, w way, k kind, length time.Duration, c *cost) {
	t.Helper()
	l := w.load
	l.Kind, l.Count, l.For = k.kind, k.count, length
	if k.beside {
		stream := w.load
		stream.Kind, stream.Count, stream.For = "down", 1, length+length/2
		beside := s.client(t, stream)
		NewWithT(t).Expect(beside.Start()).To(Succeed())
		defer func() { NewWithT(t).Expect(beside.Wait()).To(Succeed()) }()
	}
	before := cpuTime(t, w.pids)
	did := s.load(t, l)
	c.cpu += cpuTime(t, w.pids) - before
	NewWithT(t).Expect(did.Failed).To(BeEmpty(), "%s: %s", w.name, k.name)
	c.bytes += did.Bytes
	c.rates = append(c.rates, float64(did.Bytes)/1e9/did.Took.Seconds())
	c.medians, c.p99s = append(c.medians, did.Median), append(c.p99s, did.P99)
}

// cpuTime is that of all processes.
func cpuTime(t *testing.T, pids []int) (all time.Duration) {
	t.Helper()
	for _, pid := range pids {
		used, err := programs.CPUTime(pid)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		all += used
	}
	return all
}

// weigh reads the memory of the processes before and with idle tunnels. Pages of files do not count: others map them, too.
func (s site) weigh(t *testing.T, w way, r *result) {
	t.Helper()
	g := NewWithT(t)
	memory := func() (all int64) {
		for _, pid := range w.pids {
			_, anonymous, err := programs.PSS(pid)
			g.Expect(err).NotTo(HaveOccurred())
			all += anonymous
		}
		return all
	}
	r.itself = memory()
	l := w.load
	l.Kind, l.Count = "idle", idle
	for i := range sources {
		l.Sources = append(l.Sources, source(i))
	}
	c := s.client(t, l)
	stdin, err := c.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	stdout, err := c.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Start()).To(Succeed())
	out := bufio.NewReader(stdout)
	line, err := out.ReadBytes('\n')
	g.Expect(err).NotTo(HaveOccurred())
	var did report
	g.Expect(json.Unmarshal(line, &did)).To(Succeed())
	g.Expect(did.Failed).To(BeEmpty(), w.name)
	r.tunnel = (memory() - r.itself) / idle
	g.Expect(stdin.Close()).To(Succeed())
	_, _ = io.Copy(io.Discard, out)
	g.Expect(c.Wait()).To(Succeed())
}

func median[T float64 | time.Duration](all []T) T {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// rate is the median of a kind's rates, and trip that of its round trips in microseconds.
func (r *result) rate(kind string) float64 { return median(r.costs[kind].rates) }
func (r *result) trip(kind string) float64 { return median(r.costs[kind].medians).Seconds() * 1e6 }

// tableOf is Markdown.
func tableOf(ways []way, results map[string]*result) string {
	var out strings.Builder
	out.WriteString("| path | GB/s from the VM: 1 stream, 8 streams | GB/s to the VM: 1 stream, 8 streams | CPU ms for a GB from the VM | round trip µs: p50, p99 | round trip during a stream | dial and 1 byte, µs: p50, p99 |" +
		" MiB of the process | KiB of an idle tunnel |\n|" + strings.Repeat(" --- |", 9) + "\n")
	for _, w := range ways {
		r := results[w.name]
		both := func(kind string) string {
			return fmt.Sprintf("%.0f, %.0f", r.trip(kind), median(r.costs[kind].p99s).Seconds()*1e6)
		}
		cpu, memory := "", " | "
		if len(w.pids) > 0 {
			cpu = fmt.Sprintf("%.0f", r.costs["down"].cpu.Seconds()*1e12/float64(max(1, r.costs["down"].bytes)))
			memory = fmt.Sprintf("%.1f | %.1f", float64(r.itself)/(1<<20), float64(r.tunnel)/(1<<10))
		}
		fmt.Fprintf(&out, "| %s | %.2f, %.2f | %.2f, %.2f | %s | %s | %s | %s | %s |\n", w.name, r.rate("down"), r.rate("down, 8"), r.rate("up"), r.rate("up, 8"),
			cpu, both("round trip"), both("round trip beside a stream"), both("dial"), memory)
	}
	return out.String()
}

// goalsOf lists which are met.
func goalsOf(t *testing.T, results map[string]*result, vms map[string]*vmsCost) string {
	t.Helper()
	ours, direct := results["oooi"], results["direct"]
	goals := &programs.Goals{T: t}
	for _, kind := range []string{"down", "up"} {
		is := ours.rate(kind) / direct.rate(kind)
		goals.Goal(is >= 0.4, "a stream %s has %.2f of the direct rate, at least 0.40", kind, is)
	}
	trip := ours.trip("round trip") / direct.trip("round trip")
	goals.Goal(trip < 6, "a round trip takes %.1f times the direct one, less than 6", trip)
	beside := ours.trip("round trip beside a stream") / ours.trip("round trip")
	goals.Goal(beside < 1.5, "a round trip beside a stream takes %.1f times an idle one, less than 1.5", beside)
	tunnel := float64(ours.tunnel) / (1 << 10)
	goals.Goal(tunnel <= 10, "an idle tunnel takes %.1f KiB, at most 10", tunnel)
	for _, k := range vmsKinds() {
		if c := vms[k.name]; c != nil && k.goal {
			lost := 100 * (1 - median(c.rates[1])/median(c.rates[0]))
			goals.Goal(lost < 10, "%s lose %.0f %% of their TLS connections next to a stream, less than 10", k.name, lost)
		}
	}
	return goals.String()
}
