// This file simulates a VM: its route through the next-hop VIP and its connections.

package simulation

import "time"

// A vm opens new connections all the time, and holds one long connection.
type vm struct {
	w    *world
	name string
	vlan port
	hop  neighbor
	// conn is where the long connection ends: a pod, and which Envoy of it. Nil: there is none.
	conn    *pod
	connRun int
	works   bool
	// since is when new connections began to fail although an edge could carry them.
	since   time.Duration
	failing bool

	gap  time.Duration // The longest
	cuts int
	// known is what each pod's kernel knows about the VM.
	known map[*pod]*acquaintance
}

// An acquaintance is how the kernels of a pod and of a VM know each other: how fast the VM
// answers probes, and the entry in the pod's neighbor table.
type acquaintance struct {
	icmp      bucket
	entry     bool
	confirmed time.Duration
	asking    bool // the entry is in use and outdated; the kernel asks after delayTime
}

// addVM adds a VM that sends to p.
func (w *world) addVM(name string, side int, p *pod) *vm {
	v := &vm{w: w, name: name, vlan: port{side: side}, known: map[*pod]*acquaintance{}}
	v.hop = neighbor{w: w, pod: p, span: w.reachableTime(), confirmed: w.now - w.between(0, 10*time.Second),
		sends: func() bool { return !w.quiet }, proven: func() bool { return v.works }, ask: v.ask}
	if p != nil && !w.quiet {
		v.hop.state = reachable
		v.hop.updated = w.now - 2*time.Second
		v.hop.arm()
	}
	w.vms = append(w.vms, v)
	return v
}

// ask asks for the next-hop VIP. Every edge answers.
func (v *vm) ask(to *pod) {
	for _, p := range v.w.pods {
		if to != nil && p != to || !p.kernel || !v.w.passes(&v.vlan, &p.vlan) {
			continue
		}
		p.frames++
		if v.w.passes(&p.vlan, &v.vlan) {
			v.w.after(v.w.transit(), func() { v.hop.answered(p) })
		}
	}
}

// look finds what works now. It is called after everything that happens.
func (v *vm) look() {
	if v.w.quiet {
		return
	}
	if v.hop.state == none {
		v.hop.used()
	}
	to := v.hop.to()
	arrives := to != nil && v.reaches(to)
	works := arrives && to.carries()
	if v.conn != nil && arrives && (v.conn != to || v.connRun != to.envoyRun) {
		v.cuts++
		v.w.note("%s: connection to %s is reset", v.name, v.conn.name)
		v.conn = nil
	}
	if works && v.conn == nil {
		v.conn, v.connRun = to, to.envoyRun
		v.w.note("%s: connects to %s", v.name, to.name)
	}
	if v.works && !works {
		v.hop.confirmed = v.w.now
	}
	v.works = works
	v.measure()
}

func (v *vm) measure() {
	failing := !v.works && v.couldWork()
	switch {
	case failing && !v.failing:
		v.w.note("%s: new connections fail", v.name)
		v.since = v.w.now
	case failing:
		v.gap = max(v.gap, v.w.now-v.since)
	case v.failing:
		v.w.note("%s: new connections work or cannot, after %.2f s", v.name, (v.w.now - v.since).Seconds())
		v.gap = max(v.gap, v.w.now-v.since)
	}
	v.failing = failing
}

// reaches: packets of the VM arrive at a kernel, and its answers come back.
func (v *vm) reaches(p *pod) bool { return p.kernel && v.w.connected(&v.vlan, &p.vlan) }

// couldWork: an edge would carry the VM's connections.
func (v *vm) couldWork() bool {
	for _, p := range v.w.pods {
		if p.kernel && p.carries() && v.reaches(p) {
			return true
		}
	}
	return false
}

// A bucket limits ICMP errors to one destination, as icmp_ratelimit does.
type bucket struct {
	tokens, filled time.Duration
}

const (
	icmpLimit = time.Second
	icmpBurst = 6 * time.Second
)

func (b *bucket) take(now time.Duration) bool {
	b.tokens = min(icmpBurst, b.tokens+now-b.filled)
	b.filled = now
	if b.tokens < icmpLimit {
		return false
	}
	b.tokens -= icmpLimit
	return true
}
