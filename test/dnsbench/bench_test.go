// This file runs the rounds, and writes the table and which goals are met.

package dnsbench

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// A kind is one kind of questions.
type kind struct {
	name string
	tcp  bool
	line func(i int) string
}

func kinds() []kind {
	host := func(i int) string { h, _ := name(i); return h + " A" }
	return []kind{
		{"A", false, host},
		{"wildcard", false, func(i int) string { return fmt.Sprintf("app-%d.apps.%s A", i, domain) }},
		{"NXDOMAIN", false, func(i int) string { return fmt.Sprintf("nothing-%d.%s A", i, domain) }},
		{"PTR", false, func(i int) string { return fmt.Sprintf("%d.%s PTR", 5+i%250, reverse) }},
		{"A by TCP", true, host},
	}
}

// A cost is what one server did with one kind of questions, in all rounds.
type cost struct {
	answers, lost int
	cpu           time.Duration
	rates         []float64
}

// perAnswer is the CPU time of the server's process for each answer, in microseconds.
func (c cost) perAnswer() float64 { return c.cpu.Seconds() * 1e6 / float64(max(1, c.answers)) }

// rate is the median of the rounds, in answers a second.
func (c cost) rate() float64 {
	slices.Sort(c.rates)
	return c.rates[len(c.rates)/2]
}

// TestDNSBench measures for $OOOI_DNS_ROUNDS rounds of a second for each kind. It fails if a goal is missed.
func TestDNSBench(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("OOOI_DNS_ROUNDS"))
	if err != nil {
		t.Skip("OOOI_DNS_ROUNDS is not set: `make bench-dns` does")
	}
	netns.Require(t, "setpriv", "taskset", "dig")
	g := NewWithT(t)
	dnsperf, libraries := programs.RequireUnpackedWith(t, []string{"libldns3", "libck0"}, "dnsperf", "usr/bin/dnsperf")
	host, dir := netns.New(t), t.TempDir()
	var servers []*running
	costs := map[string]map[string]*cost{}
	for i, c := range contenders(t) {
		servers = append(servers, c.start(t, host, 5301+i))
		costs[c.name] = map[string]*cost{}
	}
	for _, k := range kinds() {
		text := ""
		for i := range names {
			text += k.line(i) + "\n"
		}
		questions := programs.WriteFile(t, dir, "questions", text)
		for range rounds {
			for _, s := range servers {
				if costs[s.name][k.name] == nil {
					costs[s.name][k.name] = &cost{}
				}
				args := []string{"-c", loaderCore, dnsperf, "-s", address, "-p", fmt.Sprint(s.port), "-d", questions, "-l", "1", "-c", "4", "-q", "64", "-t", "1"}
				if k.tcp {
					args = append(args, "-m", "tcp")
				}
				before, err := programs.CPUTime(s.pid)
				g.Expect(err).NotTo(HaveOccurred())
				p := host.Command(t.Context(), "taskset", args...)
				p.Env = append(os.Environ(), libraries)
				out, err := p.CombinedOutput()
				g.Expect(err).NotTo(HaveOccurred(), string(out))
				after, err := programs.CPUTime(s.pid)
				g.Expect(err).NotTo(HaveOccurred())
				costs[s.name][k.name].add(t, string(out), after-before)
			}
		}
	}
	text := table(t, servers, costs)
	t.Log("\n" + text)
	if file := os.Getenv("OOOI_DNS_TABLE"); file != "" {
		g.Expect(os.WriteFile(file, []byte(text), 0o644)).To(Succeed())
	}
}

// The lines of dnsperf's report.
var completed, lost, perSecond = regexp.MustCompile(`Queries completed:\s+(\d+)`), regexp.MustCompile(`Queries lost:\s+(\d+)`), regexp.MustCompile(`Queries per second:\s+([\d.]+)`)

// add adds one round.
func (c *cost) add(t *testing.T, report string, cpu time.Duration) {
	t.Helper()
	number := func(line *regexp.Regexp) float64 {
		m := line.FindStringSubmatch(report)
		if m == nil {
			t.Fatalf("no %s in\n%s", line, report)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	c.answers, c.lost, c.cpu = c.answers+int(number(completed)), c.lost+int(number(lost)), c.cpu+cpu
	c.rates = append(c.rates, number(perSecond))
}

// table is Markdown, and a list of the goals. One that is missed fails the test.
func table(t *testing.T, servers []*running, costs map[string]map[string]*cost) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("| CPU µs for each answer |")
	for _, k := range kinds() {
		out.WriteString(" " + k.name + " |")
	}
	fmt.Fprintf(&out, " A, answers/s | lost | RSS MiB, at most |\n|%s\n", strings.Repeat(" --- |", len(kinds())+4))
	memory := map[string]int64{}
	for _, s := range servers {
		_, peak, err := programs.Memory(s.pid)
		if err != nil {
			t.Fatal(err)
		}
		memory[s.name] = peak
		fmt.Fprintf(&out, "| %s |", s.name)
		lost := 0
		for _, k := range kinds() {
			fmt.Fprintf(&out, " %.1f |", costs[s.name][k.name].perAnswer())
			lost += costs[s.name][k.name].lost
		}
		fmt.Fprintf(&out, " %.0f | %d | %d |\n", costs[s.name]["A"].rate(), lost, peak>>20)
	}
	out.WriteString("\n")
	goals := &programs.Goals{T: t}
	ours := costs["oooi"]
	for _, k := range kinds() {
		if !k.tcp {
			ratio := ours[k.name].perAnswer() / costs["CoreDNS, view and file"][k.name].perAnswer()
			goals.Goal(ratio <= 0.4, "%s: %.2f of the CPU time of CoreDNS with a view and file, at most 0.4", k.name, ratio)
			ratio = ours[k.name].perAnswer() / costs["knot"][k.name].perAnswer()
			goals.Goal(ratio <= 1.5, "%s: %.2f of the CPU time of knot, at most 1.5", k.name, ratio)
		}
		goals.Goal(ours[k.name].lost == 0, "%s: no question is lost", k.name)
	}
	goals.Goal(memory["oooi"] <= 40<<20, "%d MiB of memory, at most 40", memory["oooi"]>>20)
	return out.String() + goals.String()
}
