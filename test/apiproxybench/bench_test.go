// This file runs the rounds, and writes the table and which goals are met.

package apiproxybench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

const (
	// gets is how many objects are read one after the other in a round, and atOnce how many lists at once.
	gets, atOnce = 500, 4
	mb           = 1e6
)

// A cost is what one way took, in all rounds. The lists have the names of the rules, and others.
type cost struct {
	get, list, cpu, first, untouched, four, watch []time.Duration
	peak                                          int64
}

// median of the rounds.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestAPIProxyBench measures for $OOOI_APIPROXY_ROUNDS rounds. It fails if a goal is missed.
func TestAPIProxyBench(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("OOOI_APIPROXY_ROUNDS"))
	if err != nil {
		t.Skip("OOOI_APIPROXY_ROUNDS is not set: `make bench-apiproxy` does")
	}
	s := newSite(t)
	ways := []way{s.direct(), s.plain(t), s.proxy(t)}
	costs := map[string]*cost{}
	for _, w := range ways {
		costs[w.name] = &cost{}
		s.check(t, w)
	}
	for i := range rounds {
		// Each is the first one in turn, so that each is next to each other one.
		for j := range ways {
			w := ways[(i+j)%len(ways)]
			s.measure(t, w, costs[w.name])
		}
	}
	for _, w := range ways[1:] {
		_, costs[w.name].peak, err = programs.Memory(w.pid)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	text := table(ways, costs) + "\n" + goals(t, costs)
	t.Log("\n" + text)
	if file := os.Getenv("OOOI_APIPROXY_TABLE"); file != "" {
		NewWithT(t).Expect(os.WriteFile(file, []byte(text), 0o644)).To(Succeed())
	}
}

// list is the path of a list, and object that of one object.
func (w way) list() string { return "/apis/" + w.group + "/v1/" + w.plural }
func (w way) object() string {
	return "/apis/" + w.group + "/v1/namespaces/clusters-blue/" + w.plural + "/a"
}

const untouched = "/apis/" + otherGroup + "/v1/virtualmachineinstances"

// A client has a connection of its own.
type client struct {
	*http.Client
	url string
}

// client returns one that is connected.
func (s *site) client(t *testing.T, w way) client {
	t.Helper()
	own := transport(s.leaf)
	t.Cleanup(own.CloseIdleConnections)
	c := client{&http.Client{Transport: own}, w.url}
	_, _, err := c.read(w.object(), io.Discard)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// read reads an answer, and returns how long it took until its first byte and its last one.
func (c client) read(path string, to io.Writer) (first, last time.Duration, err error) {
	start := time.Now()
	answer, err := c.Get(c.url + path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		return 0, 0, fmt.Errorf("%s: %s %s", path, answer.Proto, answer.Status)
	}
	buffer := make([]byte, 256<<10)
	n, err := io.ReadAtLeast(answer.Body, buffer, 1)
	first = time.Since(start)
	if err == nil {
		_, err = to.Write(buffer[:n])
	}
	for err == nil {
		n, err = answer.Body.Read(buffer)
		_, _ = to.Write(buffer[:n]) // It is memory, or nothing.
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return first, time.Since(start), err
}

// check compares the answers with what is expected: a way that answers wrong is not measured.
func (s *site) check(t *testing.T, w way) {
	t.Helper()
	g := NewWithT(t)
	c := s.client(t, w)
	for path, want := range map[string]int{w.list(): items, w.list() + "?watch=1": events, w.object(): 1} {
		var answer bytes.Buffer
		_, _, err := c.read(path, &answer)
		g.Expect(err).NotTo(HaveOccurred(), w.name)
		// The object, its owner, two labels, an annotation and a finalizer have the name of the group.
		g.Expect(bytes.Count(answer.Bytes(), []byte(`"`+w.group+`/`))).To(BeNumerically("~", 6*want, 1), "%s: %s", w.name, path)
		g.Expect(bytes.Count(answer.Bytes(), []byte("worker-"))).To(Equal(2*want), "%s: %s", w.name, path)
	}
	var answer bytes.Buffer
	_, _, err := c.read(untouched, &answer)
	g.Expect(err).NotTo(HaveOccurred(), w.name)
	g.Expect(float64(answer.Len())/mb).To(BeNumerically("~", 30, 1), w.name)
}

// measure adds a round.
func (s *site) measure(t *testing.T, w way, to *cost) {
	t.Helper()
	g := NewWithT(t)
	c := s.client(t, w)
	took := func(path string) (first, last time.Duration) {
		first, last, err := c.read(path, io.Discard)
		g.Expect(err).NotTo(HaveOccurred(), w.name)
		return first, last
	}
	start := time.Now()
	for range gets {
		took(w.object())
	}
	to.get = append(to.get, time.Since(start)/gets)
	before := w.cpu(t)
	first, last := took(w.list())
	to.first, to.list, to.cpu = append(to.first, first), append(to.list, last), append(to.cpu, w.cpu(t)-before)
	_, last = took(untouched)
	to.untouched = append(to.untouched, last)
	_, last = took(w.list() + "?watch=1")
	to.watch = append(to.watch, last)
	var all sync.WaitGroup
	start = time.Now()
	for range atOnce {
		other := s.client(t, w)
		all.Go(func() {
			_, _, err := other.read(w.list(), io.Discard)
			g.Expect(err).NotTo(HaveOccurred(), w.name)
		})
	}
	all.Wait()
	to.four = append(to.four, time.Since(start))
}

// cpu is the CPU time of what stands in the way.
func (w way) cpu(t *testing.T) time.Duration {
	t.Helper()
	if w.pid == 0 {
		return 0
	}
	used, err := programs.CPUTime(w.pid)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return used
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// rate is how many events came in a second.
func (c *cost) rate() float64 { return events / median(c.watch).Seconds() }

func table(ways []way, costs map[string]*cost) string {
	var out strings.Builder
	out.WriteString("| HTTP/2 over TLS, median | GET 1 kB, ms | LIST 30 MB, ms | its first byte, ms | its CPU time, ms | four at once, ms | untouched LIST, ms | WATCH, events/s | RSS MiB, at most |\n|" + strings.Repeat(" --- |", 9) + "\n")
	for _, w := range ways {
		c, memory := costs[w.name], ""
		if w.pid != 0 {
			memory = fmt.Sprintf("%.1f", float64(c.peak)/(1<<20))
		}
		fmt.Fprintf(&out, "| %s | %.3f | %.0f | %.1f | %.0f | %.0f | %.0f | %.0f | %s |\n",
			w.name, ms(median(c.get)), ms(median(c.list)), ms(median(c.first)), ms(median(c.cpu)), ms(median(c.four)), ms(median(c.untouched)), c.rate(), memory)
	}
	return out.String()
}

// goals lists which are met. One that is missed fails the test.
func goals(t *testing.T, costs map[string]*cost) string {
	t.Helper()
	list := &programs.Goals{T: t}
	ours, direct := costs["oooi-apiproxy"], costs["direct"]
	took, ratio := ms(median(ours.list)), ms(median(ours.list))/ms(median(direct.list))
	list.Goal(took < 400, "LIST with all items renamed: %.0f ms, less than 400", took)
	list.Goal(ratio < 6, "LIST with all items renamed: %.1f times as long as direct, less than 6", ratio)
	first := ms(median(ours.first))
	list.Goal(first < 5, "first byte of that LIST: %.1f ms, less than 5", first)
	memory := float64(ours.peak) / (1 << 20)
	list.Goal(memory < 32, "resident memory with four LISTs at once: %.1f MiB, less than 32", memory)
	list.Goal(ours.rate() >= 60_000, "WATCH: %.0f events/s, at least 60,000", ours.rate())
	added := ms(median(ours.get)) - ms(median(direct.get))
	list.Goal(added < 0.3, "GET: %.3f ms more than direct, less than 0.3", added)
	ratio = ms(median(ours.untouched)) / ms(median(direct.untouched))
	list.Goal(ratio <= 2, "LIST with nothing to rename: %.1f times as long as direct, at most 2", ratio)
	return list.String()
}
