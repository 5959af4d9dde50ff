// This file runs the phases, and writes the table and which goals are met.

package dhcpbench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

const (
	// rounds in which the servers are measured alternately.
	rounds = 8
	// stormSize VMs start in one instant.
	stormSize = 500
	// defaultBuffer is the receive buffer of a socket in bytes, and the most that one can ask for, where the
	// kernel is older than 6.18. largeBuffer is that of a host that was set up for bursts.
	defaultBuffer, largeBuffer = 212992, 8 << 20
)

// A phase is what one server did in all rounds.
type phase struct {
	ops, lost, again int
	cpu              time.Duration
	rates            []float64
	latencies        []time.Duration
}

// perOp is the CPU time of the server's process for each operation.
func (p phase) perOp() time.Duration { return p.cpu / time.Duration(max(1, p.ops)) }

// rate is the median of the rounds, in operations a second.
func (p phase) rate() float64 {
	if len(p.rates) == 0 {
		return 0
	}
	slices.Sort(p.rates)
	return p.rates[len(p.rates)/2]
}

// A row is what one server costs.
type row struct {
	boot, renew, reboot   phase
	storms                map[string]Result
	memory, memoryAtFirst int64 // Resident, in bytes.
	leases                int
}

// TestDHCPBench measures with $OOOI_DHCP_CLIENTS clients. It fails if a goal is missed.
func TestDHCPBench(t *testing.T) {
	clients, err := strconv.Atoi(os.Getenv("OOOI_DHCP_CLIENTS"))
	if err != nil {
		t.Skip("OOOI_DHCP_CLIENTS is not set: `make bench-dhcp` does")
	}
	netns.Require(t, "setpriv")
	g := NewWithT(t)
	withNeighbors(t)
	all := contenders(t, clients)
	rows := map[string]*row{}
	var servers []*running
	for _, c := range all {
		r := c.start(t, "phases", probers)
		servers = append(servers, r)
		rows[c.name] = &row{storms: map[string]Result{}, leases: clients}
		rows[c.name].memoryAtFirst, _, err = programs.Memory(r.pid)
		g.Expect(err).NotTo(HaveOccurred())
	}
	share := clients / rounds
	for _, p := range []struct {
		kind  Kind
		of    func(*row) *phase
		first func(round int) int
	}{
		{Boot, func(r *row) *phase { return &r.boot }, func(round int) int { return round * share }},
		{Renew, func(r *row) *phase { return &r.renew }, func(round int) int { return round * share }},
		{Reboot, func(r *row) *phase { return &r.reboot }, func(round int) int { return round * share }},
	} {
		for round := range rounds {
			for _, s := range servers {
				s.measure(t, p.of(rows[s.name]), p.kind, p.first(round), share)
			}
		}
	}
	for _, s := range servers {
		rows[s.name].memory, _, err = programs.Memory(s.pid)
		g.Expect(err).NotTo(HaveOccurred())
	}
	for i, load := range []int{0, 8} {
		for j, size := range []int{defaultBuffer, largeBuffer} {
			for _, c := range all {
				// Only VMs that the API server knows have no limit there.
				storm(t, c, rows[c.name], 2*i+j, clients, size, load)
			}
		}
	}
	text := table(all, rows) + "\n" + goalsOf(t, rows)
	t.Log("\n" + text)
	if file := os.Getenv("OOOI_DHCP_TABLE"); file != "" {
		g.Expect(os.WriteFile(file, []byte(text), 0o644)).To(Succeed())
	}
}

// measure adds one round to a phase.
func (r *running) measure(t *testing.T, p *phase, kind Kind, first, count int) {
	t.Helper()
	g := NewWithT(t)
	before, err := programs.CPUTime(r.pid)
	g.Expect(err).NotTo(HaveOccurred())
	result, err := r.farm.Run(kind, first, count, inFlight, limitOfPhase)
	g.Expect(err).NotTo(HaveOccurred(), r.name)
	after, err := programs.CPUTime(r.pid)
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("%s, %s: %s, %s CPU", r.name, []string{"DORA", "RENEW", "INIT-REBOOT"}[kind], result, ((after - before) / time.Duration(count)).Round(time.Microsecond))
	p.ops, p.lost, p.again, p.cpu = p.ops+result.Done, p.lost+result.Lost+result.Refused, p.again+result.Retransmissions, p.cpu+after-before
	p.rates = append(p.rates, float64(result.Done)/result.Took.Seconds())
	p.latencies = append(p.latencies, result.Latencies...)
	slices.Sort(p.latencies)
}

// storm starts VMs in one instant, those after clients and the storms before, with a server of its own whose socket has
// a receive buffer of a size, while as many other processes as load compute.
func storm(t *testing.T, c contender, out *row, number, clients, buffer, load int) {
	t.Helper()
	name := fmt.Sprintf("%d KiB, load %d", buffer>>10, load)
	t.Run(fmt.Sprintf("storm of %s with %s", c.name, name), func(t *testing.T) {
		g := NewWithT(t)
		end := withBuffers(t, buffer)
		s := c.start(t, name, probers+1+number)
		end()
		for range load {
			busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
			g.Expect(busy.Start()).To(Succeed())
			defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
		}
		r, err := s.farm.Run(Boot, clients+number*stormSize, stormSize, stormSize, 40*time.Second)
		g.Expect(err).NotTo(HaveOccurred())
		t.Log(r)
		out.storms[name] = r
	})
}

// withBuffers sets the receive buffers of sockets that are opened until end, on this whole host. The kernel reads its
// setting when a socket is opened, and has none for a network namespace.
func withBuffers(t *testing.T, size int) (end func()) {
	t.Helper()
	return withSettings(t, map[string]int{"core/rmem_default": size, "core/rmem_max": size})
}

// withNeighbors gives this whole host the neighbor table of an OpenShift node: all servers share it, and with the
// kernel's 1,024 entries they would measure how it overflows.
func withNeighbors(t *testing.T) {
	t.Helper()
	withSettings(t, map[string]int{"ipv4/neigh/default/gc_thresh1": 8192, "ipv4/neigh/default/gc_thresh2": 32768, "ipv4/neigh/default/gc_thresh3": 65536})
}

// withSettings sets values below /proc/sys/net until end, at the latest until the test ends.
func withSettings(t *testing.T, values map[string]int) (end func()) {
	t.Helper()
	former := map[string][]byte{}
	for name, value := range values {
		file := filepath.Join("/proc/sys/net", name)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strconv.Itoa(value)), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		former[file] = text
	}
	end = func() {
		for file, text := range former {
			if err := os.WriteFile(file, text, 0); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return end
}

// table is Markdown.
func table(all []contender, rows map[string]*row) string {
	var out strings.Builder
	storms := []string{"208 KiB, load 0", "8192 KiB, load 0", "208 KiB, load 8", "8192 KiB, load 8"}
	out.WriteString("| server | DORA/s | p50, p99 ms | CPU µs | RENEW/s | CPU µs | INIT-REBOOT/s | CPU µs | RSS MiB |")
	for _, s := range storms {
		fmt.Fprintf(&out, " storm, %s: tries again, s |", s)
	}
	out.WriteString("\n|" + strings.Repeat(" --- |", 9+len(storms)) + "\n")
	for _, c := range all {
		r := rows[c.name]
		latency := Result{Latencies: r.boot.latencies}
		fmt.Fprintf(&out, "| %s | %.0f | %.1f, %.1f | %d | %.0f | %.1f | %.0f | %.1f | %d |", c.name, r.boot.rate(), ms(latency.At(0.5)), ms(latency.At(0.99)),
			r.boot.perOp().Microseconds(), r.renew.rate(), micro(r.renew.perOp()), r.reboot.rate(), micro(r.reboot.perOp()), r.memory>>20)
		for _, s := range storms {
			v := r.storms[s]
			fmt.Fprintf(&out, " %d, %.2f |", v.Retransmissions+v.Lost, v.Took.Seconds())
		}
		out.WriteString("\n")
	}
	return out.String()
}

func ms(d time.Duration) float64    { return d.Seconds() * 1e3 }
func micro(d time.Duration) float64 { return d.Seconds() * 1e6 }

// goalsOf lists which are met.
func goalsOf(t *testing.T, rows map[string]*row) string {
	t.Helper()
	goals := &programs.Goals{T: t}
	r := rows[oursName]
	goals.Goal(r.renew.perOp() <= 15*time.Microsecond, "a renewal takes %.1f µs, at most 15", micro(r.renew.perOp()))
	goals.Goal(r.boot.lost+r.renew.lost+r.reboot.lost == 0, "every client is served")
	most := 40<<20 + int64(r.leases)*5<<10
	goals.Goal(r.memory <= most, "%d MiB with %d leases (%d at first), at most %d", r.memory>>20, r.leases, r.memoryAtFirst>>20, most>>20)
	for s, v := range r.storms {
		goals.Goal(v.Retransmissions == 0 && v.Done == stormSize && v.Took < 1500*time.Millisecond, "storm with %s: no retransmission, within 1.5 s: %s", s, v)
	}
	return goals.String()
}
