package failover_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

// A world is two edges and the VMs between them, with its own clock. It simulates the
// kernels: which one answers for the next-hop VIP, which one refuses, and that a starting
// kernel announces its addresses.
type world struct {
	now    time.Time
	start  time.Time
	edges  [2]edge
	owner  []int // by VM: the edge that it sends to
	flight []datagram
	// lost is the percentage of edge i's messages that are lost.
	lost      [2]int
	rand      *rand.Rand
	announced []announced
	story     []string
	runs      int
}

type edge struct {
	kernel        bool // answers ARP, and refuses where no agent runs
	agent         bool
	serves        bool
	closed        bool // Next said so
	drainingSince time.Time
	state         failover.State
	next          time.Time   // its tick
	refusal       time.Time   // the last it sent: the kernel sends one a second
	burst         []time.Time // announcements since the peer's state changed
}

type datagram struct {
	to      int
	at      time.Time
	message failover.Message
	refused bool
}

type announced struct {
	by int
	at time.Time
}

func newWorld(seed uint64, vms int) *world {
	w := &world{now: time.Unix(1000, 0), rand: rand.New(rand.NewPCG(seed, 1)), owner: make([]int, vms)}
	w.start = w.now
	for m := range w.owner {
		w.owner[m] = w.rand.IntN(2)
	}
	return w
}

func (w *world) note(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%7.3f ", w.now.Sub(w.start).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) boot(i int) {
	if w.edges[i].kernel {
		return
	}
	w.note("%d boots", i)
	w.edges[i] = edge{kernel: true}
	if w.rand.IntN(2) == 0 {
		w.move(i) // arp_notify, where the bridge port forwards already
	}
}

func (w *world) run(i int) {
	if e := &w.edges[i]; e.kernel && !e.agent {
		w.runs++
		w.note("%d runs", i)
		e.agent, e.closed, e.drainingSince, e.burst = true, false, time.Time{}, nil
		e.state = failover.NewState(failover.Self{Edge: i + 1, Instance: fmt.Sprintf("%d.%d", i, w.runs)}, false)
		e.next = w.now.Add(time.Duration(w.rand.IntN(500)) * time.Millisecond)
	}
}

func (w *world) serve(i int, serves bool) {
	e := &w.edges[i]
	if !e.agent || e.serves == serves || !e.drainingSince.IsZero() {
		return
	}
	w.note("%d serves: %v", i, serves)
	e.serves = serves
	kind := failover.NotReady
	if serves {
		kind = failover.Ready
	}
	w.handle(i, failover.Event{Kind: kind})
}

func (w *world) crash(i int) {
	w.note("%d crashes", i)
	w.edges[i].agent, w.edges[i].serves = false, false
}

func (w *world) die(i int) { w.note("%d dies", i); w.edges[i] = edge{} }

func (w *world) leave(i int) {
	if e := &w.edges[i]; e.agent && e.drainingSince.IsZero() {
		w.note("%d leaves", i)
		e.drainingSince = w.now
		w.handle(i, failover.Event{Kind: failover.Drain})
	}
}

// move simulates an edge's broadcast from the next-hop VIP.
func (w *world) move(i int) {
	for m := range w.owner {
		w.owner[m] = i
	}
}

func (w *world) handle(i int, e failover.Event) {
	me := &w.edges[i]
	before := me.state.PeerState
	next, do := failover.Next(me.state, e, w.now)
	me.state = next
	if before != next.PeerState {
		w.note("%d: peer %s", i, next.PeerState)
		me.burst = nil
	}
	if do.Announce {
		w.note("%d announcements", i)
		me.burst = append(me.burst, w.now)
		w.announced = append(w.announced, announced{i, w.now})
		w.move(i)
	}
	for _, x := range do.Answers {
		w.send(i, x.Message)
	}
	for _, m := range do.Send {
		w.send(i, m)
	}
	if do.Close && !me.closed {
		w.note("%d closes", i)
		me.closed, me.agent, me.serves = true, false, false
	}
}

func (w *world) send(from int, m failover.Message) {
	to := 1 - from
	if !w.edges[to].kernel || w.rand.IntN(100) < w.lost[from] {
		return
	}
	d := datagram{to: to, at: w.now.Add(time.Duration(w.rand.IntN(20)) * time.Millisecond), message: m}
	if e := &w.edges[to]; !e.agent {
		if w.rand.IntN(100) < w.lost[to] || w.now.Sub(e.refusal) < time.Second {
			return
		}
		e.refusal = w.now
		d.to, d.refused = from, true
	}
	w.flight = append(w.flight, d)
}

// pass advances the clock in steps of 10 ms, and checks after each.
func (w *world) pass(d time.Duration, check func()) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(10 * time.Millisecond)
		var later []datagram
		arrived := w.flight
		w.flight = nil
		for _, d := range arrived {
			switch {
			case d.at.After(w.now):
				later = append(later, d)
			case !w.edges[d.to].agent:
			case d.refused:
				w.handle(d.to, failover.Event{Kind: failover.Refused})
			default:
				w.handle(d.to, failover.Event{Kind: failover.Heard, Message: d.message})
			}
		}
		w.flight = append(w.flight, later...)
		for i := range w.edges {
			if e := &w.edges[i]; e.agent && !w.now.Before(e.next) {
				e.next = w.now.Add(failover.Interval + time.Duration(w.rand.IntN(21)-10)*time.Millisecond)
				w.handle(i, failover.Event{Kind: failover.Tick})
			}
		}
		if check != nil {
			check()
		}
	}
}

// served reports whether each VM sends to an edge that serves.
func (w *world) served() bool {
	for _, o := range w.owner {
		if !w.edges[o].serves {
			return false
		}
	}
	return true
}

func (w *world) announcementsSince(t time.Time) int {
	n := 0
	for _, c := range w.announced {
		if c.at.After(t) {
			n++
		}
	}
	return n
}

func (w *world) fatal(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.story, "\n"))
}

// play runs a schedule of faults from bytes, ends the faults, and checks the laws that
// hold for every schedule.
func play(t *testing.T, seed uint64, faults []byte) {
	w := newWorld(seed, 3)
	for i := range w.edges {
		w.boot(i)
		w.run(i)
		w.serve(i, true)
	}
	checked, lossy := 0, false
	check := func() {
		for i, e := range w.edges {
			n := len(e.burst)
			switch sight := e.state.PeerState; {
			case n == 0:
			case sight == failover.PeerUnreachable && n > 4:
				w.fatal(t, "edge %d announcements %d times after one loss", i, n)
			case sight == failover.PeerIdle && n > 1 && e.burst[n-1].Sub(e.burst[n-2]) < 200*time.Millisecond:
				w.fatal(t, "edge %d announcements without a pause", i)
			case sight != failover.PeerUnreachable && sight != failover.PeerIdle:
				w.fatal(t, "edge %d announcements while its peer is %s", i, sight)
			}
		}
		for ; checked < len(w.announced); checked++ {
			if c := w.announced[checked]; !w.edges[c.by].serves {
				w.fatal(t, "edge %d announcements and does not serve", c.by)
			}
		}
		for i := range w.edges {
			if e := w.edges[i]; !e.drainingSince.IsZero() && !e.closed && w.now.Sub(e.drainingSince) > 5*time.Second && e.agent {
				w.fatal(t, "edge %d waits for ever to close", i)
			}
		}
	}
	for _, f := range faults {
		i, what := int(f&1), f>>1&15
		lossy = lossy || what >= 10 && what <= 12
		switch {
		case what == 0:
			w.die(i)
		case what == 1:
			w.crash(i)
		case what == 2:
			w.leave(i)
		case what < 5:
			w.boot(i)
		case what < 7:
			w.run(i)
		case what < 9:
			w.serve(i, true)
		case what == 9:
			w.serve(i, false)
		case what == 10:
			w.lost[i] = 100
		case what == 11:
			w.lost[i] = 40
		case what == 12:
			w.lost = [2]int{100, 100}
		case what < 15:
			w.lost[i] = 0
		default:
			w.owner[w.rand.IntN(len(w.owner))] = w.firstWithKernel() // a VM that asks again
		}
		w.pass(time.Duration(1<<(f>>5))*40*time.Millisecond, check)
	}
	w.judge(t, lossy, check)
}

func (w *world) firstWithKernel() int {
	i := w.rand.IntN(2)
	if w.edges[i].kernel {
		return i
	}
	return 1 - i
}

// judge ends the faults, but not their effects, and checks the result.
func (w *world) judge(t *testing.T, lossy bool, check func()) {
	for i := range w.lost {
		if w.lost[i] == 40 {
			w.lost[i] = 0 // a flapping link is a fault too
		}
	}
	w.note("peace")
	peace := w.now
	blind := w.lost[0] > 0 || w.lost[1] > 0
	// After lost messages, doubts increase the silence limit up to 24 s.
	bound := 4 * time.Second
	if lossy {
		bound = 30 * time.Second
	}
	w.pass(bound, check)
	a, b := w.edges[0], w.edges[1]
	// A draining edge does not announce: it stops soon.
	stays := a.serves && a.drainingSince.IsZero() || b.serves && b.drainingSince.IsZero()
	if !blind && stays && !w.served() {
		w.fatal(t, "vms send to an edge that does not serve: %v", w.owner)
	}
	settled := w.now
	w.pass(time.Minute-bound, check)
	switch n := w.announcementsSince(settled); {
	case a.serves && b.serves && !blind && w.announcementsSince(peace.Add(2*time.Second)) > 0:
		w.fatal(t, "both serve and see each other, and yet one announcements")
	case a.serves && b.serves && n > 8:
		w.fatal(t, "%d announcements long after: both live, and herd the vms", n)
	}
	w.pass(15*time.Second, check)
	quiet := w.now
	w.pass(60*time.Second, check)
	if n := w.announcementsSince(quiet); a.serves && b.serves && n > 0 {
		w.fatal(t, "%d announcements for ever", n)
	}
}

func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		faults := make([]byte, 1+r.IntN(25))
		for i := range faults {
			faults[i] = byte(r.UintN(256))
		}
		play(t, seed, faults)
	}
}

func FuzzSchedules(f *testing.F) {
	f.Add(uint64(1), []byte{0x00, 0x26, 0x4a, 0x6e})
	f.Add(uint64(2), []byte{0xf8, 0x18, 0xe4, 0x05})
	f.Fuzz(func(t *testing.T, seed uint64, faults []byte) {
		if len(faults) > 60 {
			faults = faults[:60]
		}
		play(t, seed, faults)
	})
}
