// This file runs the rounds, and writes the table and which goals are met.

package proxybench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
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
	// few and many are how many routes there are.
	few, many = 5, 500
	// idle is how many connections wait while memory is read.
	idle  = 2000
	round = time.Second
)

// A cost is what one proxy did with one kind of load, in all rounds.
type cost struct {
	connections   int
	bytes         int64
	cpu           time.Duration
	rates         []float64
	medians, p99s []time.Duration
}

// perConnection is the CPU time of the proxy for each connection, in microseconds.
func (c cost) perConnection() float64 { return c.cpu.Seconds() * 1e6 / float64(max(1, c.connections)) }

// perGB is the CPU time of the proxy for 10⁹ bytes, in milliseconds.
func (c cost) perGB() float64 { return c.cpu.Seconds() * 1e12 / float64(max(1, c.bytes)) }

// A weight is the memory that a proxy takes, in bytes: before any connection, and for each idle one.
type weight struct{ itself, connection int64 }

// A result is all that was measured of one proxy.
type result struct {
	costs   map[string]*cost
	weights map[table]weight
}

// tables are what memory is measured with.
func tables() []table { return []table{{few, true}, {many, true}, {many, false}} }

// kinds of loads, each of which is measured for a second in each round.
func kinds() []load {
	return []load{{Kind: "raw", Count: 16}, {Kind: "tls", Count: 16}, {Kind: "tls, many routes", Count: 16}, {Kind: "download", Count: 2}, {Kind: "echo", Count: 1}}
}

// TestProxyBench measures for $OOOI_PROXY_ROUNDS rounds. It fails if a goal is missed.
func TestProxyBench(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("OOOI_PROXY_ROUNDS"))
	if err != nil {
		t.Skip("OOOI_PROXY_ROUNDS is not set: `make bench-proxy` does")
	}
	netns.Require(t, "haproxy")
	host := newHost(t)
	results := map[string]*result{"direct": {costs: map[string]*cost{}}}
	both := map[string][2]*running{"direct": {{host: host, at: endpoint(0).Addr().String()}, {host: host, at: endpoint(0).Addr().String()}}}
	names := []string{"direct"}
	for i, p := range proxies(t) {
		names = append(names, p.name)
		r := &result{costs: map[string]*cost{}, weights: map[table]weight{}}
		results[p.name] = r
		for j, routes := range tables() {
			r.weights[routes] = p.weigh(t, host, fmt.Sprintf("127.0.%d.1", 1+10*i+j), routes)
		}
		both[p.name] = [2]*running{p.start(t, host, fmt.Sprintf("127.0.%d.2", 1+10*i), tables()[0]), p.start(t, host, fmt.Sprintf("127.0.%d.3", 1+10*i), tables()[1])}
	}
	for _, k := range kinds() {
		for i := range rounds {
			// Each is the first one in turn, so that each is next to each other one.
			for j := range names {
				name := names[(i+j)%len(names)]
				p, l := both[name][0], k
				if k.Kind == "tls, many routes" {
					p, l.Kind = both[name][1], "tls"
				}
				if results[name].costs[k.Kind] == nil {
					results[name].costs[k.Kind] = &cost{}
				}
				p.measure(t, l, results[name].costs[k.Kind])
			}
		}
	}
	for _, name := range names {
		if p := both[name][1]; p.control {
			NewWithT(t).Expect(asked(t, *p.dir)).NotTo(BeZero(), "%s asks its Gate", name)
		}
	}
	text := tableOf(names, results) + "\n" + goalsOf(t, results)
	t.Log("\n" + text)
	if file := os.Getenv("OOOI_PROXY_TABLE"); file != "" {
		NewWithT(t).Expect(os.WriteFile(file, []byte(text), 0o644)).To(Succeed())
	}
}

// newHost is a namespace with the backends. Ports of closed connections are used again at once.
func newHost(t *testing.T) *netns.Namespace {
	t.Helper()
	host := netns.New(t)
	host.Sysctl(t, "net/ipv4/tcp_tw_reuse", "1")
	host.Sysctl(t, "net/ipv4/ip_local_port_range", "10000 65000")
	self, env := programs.Self(t)
	backend := host.Command(context.WithoutCancel(t.Context()), self, "backend", fmt.Sprintf("0.0.0.0:%d", backendPort))
	backend.Env = env
	programs.Start(t, backend)
	return host
}

// command returns the process that puts a load on a proxy, with this route if it is of TLS.
func (r *running) command(t *testing.T, l load, route int) (args, env []string) {
	t.Helper()
	port := rawPort
	if l.Kind == "tls" || l.Kind == "idle" {
		port, l.ServerName = tlsPort, r.table.name(route)
	}
	if r.pid == 0 {
		port = backendPort
	}
	l.Address = net.JoinHostPort(r.at, strconv.Itoa(port))
	text, err := json.Marshal(l)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	self, env := programs.Self(t)
	return []string{self, "load", string(text)}, env
}

// load runs a load on a proxy, and returns its result.
func (r *running) load(t *testing.T, l load, route int) (out report) {
	t.Helper()
	args, env := r.command(t, l, route)
	c := r.host.Command(t.Context(), args[0], args[1:]...)
	c.Env, c.Stderr = env, t.Output()
	text, err := c.Output()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(json.Unmarshal(text, &out)).To(Succeed())
	return out
}

// measure adds one round.
func (r *running) measure(t *testing.T, l load, c *cost) {
	t.Helper()
	l.For = round
	before, _ := r.uses(t)
	did := r.load(t, l, 0)
	after, _ := r.uses(t)
	NewWithT(t).Expect(did.Failed).To(BeEmpty(), "%s: %s", r.name, l.Kind)
	done := float64(did.Connections)
	if l.Kind == "download" {
		done = float64(did.Bytes) / 1e9
	}
	c.connections, c.bytes, c.cpu, c.rates = c.connections+did.Connections, c.bytes+did.Bytes, c.cpu+after-before, append(c.rates, done/did.Took.Seconds())
	c.medians, c.p99s = append(c.medians, did.Median), append(c.p99s, did.P99)
}

// uses is the CPU time and the memory of all processes of a proxy, without the memory of what configures it. Pages of files do not count: others map them, too.
func (r *running) uses(t *testing.T) (cpu time.Duration, memory int64) {
	t.Helper()
	if r.pid == 0 {
		return 0, 0
	}
	g := NewWithT(t)
	all, err := programs.Descendants(r.pid)
	g.Expect(err).NotTo(HaveOccurred())
	for pid := range all {
		used, err := programs.CPUTime(pid)
		g.Expect(err).NotTo(HaveOccurred())
		_, anonymous, err := programs.PSS(pid)
		g.Expect(err).NotTo(HaveOccurred())
		if cpu += used; !r.control || pid != r.pid {
			memory += anonymous
		}
	}
	return cpu, memory
}

// weigh starts a proxy of its own, since memory that was used before is used again.
func (p proxy) weigh(t *testing.T, host *netns.Namespace, at string, routes table) weight {
	t.Helper()
	g, r := NewWithT(t), p.start(t, host, at, routes)
	defer r.stop()
	g.Expect(r.load(t, load{Kind: "tls", Count: 16, For: round / 4}, 0).Failed).To(BeEmpty())
	_, itself := r.uses(t)
	args, env := r.command(t, load{Kind: "idle", Count: 16, Open: idle / 16}, 0)
	c := host.Command(t.Context(), args[0], args[1:]...)
	c.Env, c.Stderr = env, t.Output()
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
	g.Expect(did).To(And(HaveField("Failed", ""), HaveField("Connections", idle)), p.name)
	_, full := r.uses(t)
	g.Expect(stdin.Close()).To(Succeed())
	_, _ = io.Copy(io.Discard, out)
	g.Expect(c.Wait()).To(Succeed())
	return weight{itself, (full - itself) / idle}
}

func median[T float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

// ofRoute is the memory of a route in KiB: one of its own backend, or a further name.
func (r *result) ofRoute(own bool) float64 {
	return float64(r.weights[table{many, own}].itself-r.weights[table{few, true}].itself) / (many - few) / (1 << 10)
}

// ofConnection is the memory of an idle connection in KiB.
func (r *result) ofConnection(routes int) float64 {
	return float64(r.weights[table{routes, true}].connection) / (1 << 10)
}

// tableOf is Markdown.
func tableOf(names []string, results map[string]*result) string {
	var out strings.Builder
	out.WriteString("| proxy | raw/s | TLS/s | CPU µs, raw | CPU µs, TLS | the same, 500 routes | GB/s | CPU ms for a GB | round trip µs: p50, p99 |" +
		" KiB, idle connection | the same, 500 routes | KiB, route | KiB, further name |\n|" + strings.Repeat(" --- |", 13) + "\n")
	for _, name := range names {
		r := results[name]
		c := r.costs
		fmt.Fprintf(&out, "| %s | %.0f | %.0f | ", name, median(c["raw"].rates), median(c["tls"].rates))
		echo := fmt.Sprintf("%.0f, %.0f", median(c["echo"].medians).Seconds()*1e6, median(c["echo"].p99s).Seconds()*1e6)
		if r.weights == nil {
			fmt.Fprintf(&out, "| | | %.2f | | %s | | | | |\n", median(c["download"].rates), echo)
			continue
		}
		fmt.Fprintf(&out, "%.0f | %.0f | %.0f | %.2f | %.0f | %s | %.1f | %.1f | %.1f | %.1f |\n", c["raw"].perConnection(), c["tls"].perConnection(),
			c["tls, many routes"].perConnection(), median(c["download"].rates), c["download"].perGB(), echo, r.ofConnection(few), r.ofConnection(many), r.ofRoute(true), r.ofRoute(false))
	}
	return out.String()
}

// goalsOf lists which are met.
func goalsOf(t *testing.T, results map[string]*result) string {
	t.Helper()
	ours, haproxy, small := results["oooi"], results["HAProxy"], results["HAProxy, its own buffers"]
	goals := &programs.Goals{T: t}
	goal := func(is, most float64, format string) {
		t.Helper()
		goals.Goal(is <= most, format, is, most)
	}
	goal(ours.costs["tls"].perConnection()/haproxy.costs["tls"].perConnection(), 1.5, "a TLS connection takes %.2f of HAProxy's CPU time, at most %.1f")
	goal(ours.costs["download"].perGB()/small.costs["download"].perGB(), 1, "a GB takes %.2f of the CPU time of HAProxy with its own buffers of 16 KiB, at most %.1f")
	goal(max(ours.ofConnection(few), ours.ofConnection(many)), 12, "an idle connection takes %.1f KiB, at most %.0f")
	goal(ours.ofRoute(true), 20, "a route with a backend of its own takes %.1f KiB, at most %.0f")
	goal(ours.ofRoute(false), 20, "a further name of a backend takes %.1f KiB, at most %.0f")
	return goals.String()
}
