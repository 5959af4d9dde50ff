// This file holds the clock of a world, its networks and its API server.

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A world is two edges, the VMs between them, and what can fail.
type world struct {
	now   time.Duration
	queue queue
	rand  *rand.Rand

	// edges are the pods that run as edge 1 and 2. pods are all that ever ran, a twin included.
	edges [2]*pod
	pods  []*pod
	vms   []*vm

	// single: edges have no second path.
	single bool

	partitioned bool // VLAN hosts of different sides do not reach each other
	quiet       bool // VMs send nothing
	firewalled  bool // VMs drop probes
	lateStart   bool // edges start up to 20 s late
	apiDown     bool
	apiDelay    time.Duration

	announcements int
	telling       bool
	story         []string
}

// epoch is when worlds begin.
var epoch = time.Unix(1_000_000, 0)

func newWorld(seed uint64) *world {
	return &world{rand: rand.New(rand.NewPCG(seed, 11))}
}

// time returns the present as the edges read it.
func (w *world) time() time.Time { return epoch.Add(w.now) }

// note adds a line to the story, which a failing test prints.
func (w *world) note(format string, args ...any) {
	if w.telling {
		w.story = append(w.story, fmt.Sprintf("%8.3f ", w.now.Seconds())+fmt.Sprintf(format, args...))
	}
}

func (w *world) told() string { return strings.Join(w.story, "\n") }

// between returns a random time in [from, to).
func (w *world) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.rand.Int64N(int64(to-from)))
}

// chance is true in percent of the calls.
func (w *world) chance(percent int) bool {
	return percent >= 100 || percent > 0 && w.rand.IntN(100) < percent
}

// after calls do when d has passed.
func (w *world) after(d time.Duration, do func()) { w.queue.push(w.now+d, do) }

// run lets the world run until end.
func (w *world) run(end time.Duration) {
	for w.queue.due(end) {
		e := w.queue.pop()
		w.now = e.at
		e.do()
		for _, v := range w.vms {
			v.look()
		}
	}
	w.now = end
}

// An occurrence is what happens at a time. Those of one time happen in the order in which
// they were planned.
type occurrence struct {
	at    time.Duration
	order uint64
	do    func()
}

// A queue is a binary heap of occurrences.
type queue struct {
	heap  []occurrence
	count uint64
}

func (o occurrence) before(p occurrence) bool {
	return o.at < p.at || o.at == p.at && o.order < p.order
}

func (q *queue) due(end time.Duration) bool { return len(q.heap) > 0 && q.heap[0].at <= end }

func (q *queue) push(at time.Duration, do func()) {
	q.count++
	q.heap = append(q.heap, occurrence{at, q.count, do})
	h := q.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].before(h[i]) {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

func (q *queue) pop() occurrence {
	h := q.heap
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], occurrence{}
	h = h[:last]
	q.heap = h
	for i := 0; ; {
		least := i
		for _, below := range [...]int{2*i + 1, 2*i + 2} {
			if below < len(h) && h[below].before(h[least]) {
				least = below
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// Directions of a port, as its host sees them.
const (
	in = iota
	out
)

// A port connects a host to a network. Loss is the percentage of frames that are lost, in
// and out. Side counts while the network is partitioned.
type port struct {
	side int
	loss [2]int
}

// passes reports whether one frame arrives.
func (w *world) passes(from, to *port) bool {
	return w.joins(from, to) && !w.chance(from.loss[out]) && !w.chance(to.loss[in])
}

// returns reports whether a frame arrives and the answer to it, too.
func (w *world) returns(from, to *port) bool { return w.passes(from, to) && w.passes(to, from) }

// connected reports whether a connection works between two hosts, however many frames are
// lost.
func (w *world) connected(a, b *port) bool {
	return w.joins(a, b) && max(a.loss[in], a.loss[out], b.loss[in], b.loss[out]) < 100
}

func (w *world) joins(a, b *port) bool { return !w.partitioned || a.side == b.side }

// transit is how long a frame takes.
func (w *world) transit() time.Duration {
	return w.between(50*time.Microsecond, 5*time.Millisecond)
}
