// This file simulates one entry of a Linux neighbor table: net/core/neighbour.c and
// net/ipv4/arp.c with their defaults.

package simulation

import "time"

// The states of an entry.
type state int

const (
	none state = iota
	incomplete
	reachable
	stale
	delay
	probe
	failed
)

const (
	lockTime   = time.Second     // neigh/default/locktime
	delayTime  = 5 * time.Second // delay_first_probe_time
	probeTime  = time.Second     // retrans_time_ms
	maxProbes  = 3               // ucast_solicit, mcast_solicit
	nextPacket = 50 * time.Millisecond
)

// A neighbor is the entry of one host for one address. Which pod it names is the MAC.
type neighbor struct {
	w     *world
	state state
	pod   *pod
	// updated is the last change, confirmed the last proof, span how long a proof is good.
	updated, confirmed, span time.Duration
	probes, timer            int
	// sends: the host has packets for the address. proven: its connections confirm the entry.
	sends, proven func() bool
	// ask sends a request to one pod, nil to all.
	ask func(to *pod)
	// waiting are packets that are sent when the entry is complete.
	waiting []func(to *pod)
}

// reachableAtLeast and reachableAtMost are half, and one and a half, of base_reachable_time.
const (
	reachableAtLeast = 15 * time.Second
	reachableAtMost  = 45 * time.Second
)

func (w *world) reachableTime() time.Duration { return w.between(reachableAtLeast, reachableAtMost) }

// to returns the pod that packets are sent to, nil if there is none.
func (n *neighbor) to() *pod {
	if n.state == reachable || n.state == stale || n.state == delay || n.state == probe {
		return n.pod
	}
	return nil
}

// send sends a packet, now or when the address is resolved.
func (n *neighbor) send(packet func(to *pod)) {
	if to := n.to(); to != nil {
		packet(to)
		return
	}
	n.waiting = append(n.waiting, packet)
	n.used()
}

// used makes a resting entry act, as a packet does.
func (n *neighbor) used() {
	switch n.state {
	case none, failed:
		n.resolve()
	case stale:
		n.enter(delay)
	}
}

func (n *neighbor) resolve() {
	n.probes = 1
	n.enter(incomplete)
	n.ask(nil)
}

func (n *neighbor) enter(s state) {
	n.state, n.updated = s, n.w.now
	n.timer++
	n.arm()
}

// arm starts the timer of the state.
func (n *neighbor) arm() {
	timer := n.timer
	var wait time.Duration
	switch n.state {
	case none:
		return
	case reachable:
		wait = max(time.Millisecond, n.confirmed+n.span-n.w.now)
	case stale, failed:
		wait = n.w.between(0, nextPacket)
	case delay:
		wait = delayTime
	case probe, incomplete:
		wait = probeTime
	}
	n.w.after(wait, func() {
		if n.timer == timer {
			n.expire()
		}
	})
}

// expire is the end of a state's time.
func (n *neighbor) expire() {
	switch n.state {
	case reachable:
		if n.proven() {
			n.confirmed = n.w.now
		}
		switch {
		case n.w.now < n.confirmed+n.span:
			n.arm()
		case n.sends():
			n.enter(delay)
		default:
			n.enter(stale)
		}
	case stale, failed:
		if n.sends() {
			n.used()
		}
	case delay:
		if n.proven() || n.confirmed > n.updated {
			n.confirmed = n.w.now
			n.enter(reachable)
			return
		}
		n.probes = 1
		n.enter(probe)
		n.ask(n.pod)
	case probe, incomplete:
		n.again()
	}
}

// again repeats a request, or gives up.
func (n *neighbor) again() {
	if n.probes++; n.probes > maxProbes {
		n.waiting = nil
		n.enter(failed)
		return
	}
	n.arm()
	if n.state == probe {
		n.ask(n.pod)
	} else {
		n.ask(nil)
	}
}

// answered records an answer that was sent to this host.
func (n *neighbor) answered(by *pod) {
	known := n.to()
	if n.state == none || known != nil && known != by && n.w.now-n.updated <= lockTime {
		return
	}
	n.confirmed = n.w.now
	if known != by || n.state != reachable {
		n.take(by, reachable)
	}
}

// named handles a request whose sender names the address: an announcement, if it is the
// next-hop VIP.
func (n *neighbor) named(by *pod) {
	known := n.to()
	if n.state == none || known == by || known != nil && n.w.now-n.updated <= lockTime {
		return
	}
	n.take(by, stale)
}

// announced takes in gratuitous ARP, such as of a kernel at its start. It counts within lockTime, too.
func (n *neighbor) announced(by *pod) {
	if n.state != none && n.to() != by {
		n.take(by, stale)
	}
}

func (n *neighbor) take(by *pod, s state) {
	n.pod = by
	n.enter(s)
	waiting := n.waiting
	n.waiting = nil
	for _, packet := range waiting {
		packet(by)
	}
}
