package failover_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

// A world is two edges and the machines between them, with a clock of its own.
// It plays what kernels do: who answers for the next hop, who refuses, and that
// a kernel which comes up announces its addresses.
type world struct {
	now    time.Time
	start  time.Time
	edges  [2]edge
	owner  []int // by machine: the edge that it sends to
	flight []datagram
	// lost is how likely, of 100, what edge i says is lost.
	lost  [2]int
	rand  *rand.Rand
	claim []claimed
	story []string
	runs  int
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
	burst         []time.Time // claims since its sight of the peer changed
}

type datagram struct {
	to      int
	at      time.Time
	message failover.Message
	refused bool
}

type claimed struct {
	by int
	at time.Time
}

func newWorld(seed uint64, machines int) *world {
	w := &world{now: time.Unix(1000, 0), rand: rand.New(rand.NewPCG(seed, 1)), owner: make([]int, machines)}
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
		e.state = failover.NewState(i+1, fmt.Sprintf("%d.%d", i, w.runs), false)
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

// move is what an edge's broadcast in the name of the next hop does.
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
		w.note("%d claims", i)
		me.burst = append(me.burst, w.now)
		w.claim = append(w.claim, claimed{i, w.now})
		w.move(i)
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

// pass lets time go by in steps of 10 ms, and checks after each.
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

// served says whether each machine sends to an edge that serves.
func (w *world) served() bool {
	for _, o := range w.owner {
		if !w.edges[o].serves {
			return false
		}
	}
	return true
}

func (w *world) claimsSince(t time.Time) int {
	n := 0
	for _, c := range w.claim {
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

// play is a schedule of faults from bytes, then peace, and the laws that hold
// for every schedule.
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
				w.fatal(t, "edge %d claims %d times after one loss", i, n)
			case sight == failover.PeerIdle && n > 1 && e.burst[n-1].Sub(e.burst[n-2]) < 200*time.Millisecond:
				w.fatal(t, "edge %d claims without a pause", i)
			case sight != failover.PeerUnreachable && sight != failover.PeerIdle:
				w.fatal(t, "edge %d claims while its peer is %s", i, sight)
			}
		}
		for ; checked < len(w.claim); checked++ {
			if c := w.claim[checked]; !w.edges[c.by].serves {
				w.fatal(t, "edge %d claims and does not serve", c.by)
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
			w.owner[w.rand.IntN(len(w.owner))] = w.firstWithKernel() // a machine that asks anew
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

// judge ends the faults, but not what they left, and looks at what comes of it.
func (w *world) judge(t *testing.T, lossy bool, check func()) {
	for i := range w.lost {
		if w.lost[i] == 40 {
			w.lost[i] = 0 // what comes and goes is a fault that goes on
		}
	}
	w.note("peace")
	peace := w.now
	blind := w.lost[0] > 0 || w.lost[1] > 0
	// Where messages were lost, doubts double the patience up to 24 s.
	bound := 4 * time.Second
	if lossy {
		bound = 30 * time.Second
	}
	w.pass(bound, check)
	a, b := w.edges[0], w.edges[1]
	// One that leaves claims for nobody: it is gone in a moment.
	stays := a.serves && a.drainingSince.IsZero() || b.serves && b.drainingSince.IsZero()
	if !blind && stays && !w.served() {
		w.fatal(t, "machines send to an edge that does not serve: %v", w.owner)
	}
	settled := w.now
	w.pass(time.Minute-bound, check)
	switch n := w.claimsSince(settled); {
	case a.serves && b.serves && !blind && w.claimsSince(peace.Add(2*time.Second)) > 0:
		w.fatal(t, "both serve and see each other, and yet one claims")
	case a.serves && b.serves && n > 8:
		w.fatal(t, "%d claims long after: both live, and herd the machines", n)
	}
	w.pass(15*time.Second, check)
	quiet := w.now
	w.pass(60*time.Second, check)
	if n := w.claimsSince(quiet); a.serves && b.serves && n > 0 {
		w.fatal(t, "%d claims for ever", n)
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
