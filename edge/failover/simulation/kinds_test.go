// This file is the table of faults, each with what VMs may notice of it.

package simulation

import (
	"slices"
	"strings"
	"time"
)

// A fault is one kind of fault. It begins when it is called. Active is the edge that VMs
// use, idle the other one.
type fault struct {
	name string
	// lasts is how long the world runs on after it began.
	lasts time.Duration
	// gap and cuts bound what each VM notices.
	gap   time.Duration
	cuts  int
	begin func(w *world, active, idle int)
	// before the edges start: for example, that they have no second path.
	before func(w *world)
	// silent: no edge may announce.
	silent bool
}

const second = time.Second

// plain are the faults that are also played without a second path. Then gap and cuts are bounds there, too.
func plain() []fault {
	return []fault{
		{name: "nothing", lasts: 120 * second, silent: true, begin: func(*world, int, int) {}},
		{name: "node of the active edge lost", lasts: 60 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.lose(active, -1) }},
		{name: "node of the active edge lost and back", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.lose(active, w.between(5*second, 40*second)) }},
		{name: "node of the idle edge lost and back", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, _, idle int) { w.lose(idle, w.between(5*second, 40*second)) }},
		{name: "active pod deleted", lasts: 60 * second, gap: second, cuts: 1,
			begin: func(w *world, active, _ int) { w.replace(active, func() {}) }},
		{name: "idle pod deleted", lasts: 60 * second, gap: second, cuts: 1,
			begin: func(w *world, _, idle int) { w.replace(idle, func() {}) }},
		{name: "image of both edges changed", lasts: 90 * second, gap: second, cuts: 2,
			begin: func(w *world, active, idle int) { w.replace(idle, func() { w.replace(active, func() {}) }) }},
		{name: "envoy killed", lasts: 60 * second, gap: 1500 * time.Millisecond, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].killEnvoy() }},
		{name: "agent killed, servers fine", lasts: 60 * second, gap: 0, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].killAgent() }},
		{name: "all processes killed", lasts: 60 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].killAll() }},
		{name: "all frozen for a second", lasts: 60 * second, gap: 2 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].freeze(second) }},
		{name: "all frozen for long", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].freeze(w.between(3*second, 40*second)) }},
		{name: "agent hangs for long, servers fine", lasts: 90 * second, gap: 0, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].stop(w.between(3*second, 40*second)) }},
		{name: "late starts", lasts: 60 * second, gap: 6 * second, cuts: 1, before: func(w *world) { w.lateStart = true },
			begin: func(*world, int, int) {}},
	}
}

// ofVLAN are the faults of the VMs' network.
func ofVLAN() []fault {
	return []fault{
		{name: "active edge deaf", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].deaf(vlan, 35*second) }},
		{name: "idle edge deaf", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, _, idle int) { w.edges[idle].deaf(vlan, 35*second) }},
		// Nearly always one cut, and up to three.
		{name: "active edge mute", lasts: 90 * second, gap: 4 * second, cuts: 3,
			begin: func(w *world, active, _ int) { w.edges[active].mute(vlan, 35*second) }},
		{name: "idle edge mute", lasts: 90 * second, gap: 4 * second, cuts: 3,
			begin: func(w *world, _, idle int) { w.edges[idle].mute(vlan, 35*second) }},
		{name: "link of the active edge lost", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].unplug(w.between(3*second, 40*second)) }},
		{name: "VLAN of the active edge cut", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].cut(vlan, w.between(3*second, 40*second)) }},
		{name: "VLAN of the idle edge cut", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, _, idle int) { w.edges[idle].cut(vlan, w.between(3*second, 40*second)) }},
		// A kernel's repeated announcement may arrive after the partition.
		{name: "VLAN partitioned, VMs on both sides", lasts: 100 * second, gap: 4 * second, cuts: 3,
			begin: func(w *world, _, _ int) { w.partition(w.between(5*second, 50*second)) }},
		{name: "heartbeats filtered both ways", lasts: 90 * second, gap: 0, cuts: 1,
			begin: func(w *world, active, idle int) {
				d := w.between(16*second, 30*second)
				w.edges[active].filter(d)
				w.edges[idle].filter(d)
			}},
		{name: "heartbeats to the active edge filtered", lasts: 90 * second, gap: 0, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].filter(30 * second) }},
		{name: "heartbeats to the idle edge filtered", lasts: 90 * second, gap: 0, cuts: 1,
			begin: func(w *world, _, idle int) { w.edges[idle].filter(30 * second) }},
		{name: "10 % lost on the VLAN of one edge", lasts: 145 * second, gap: 0, cuts: 0, begin: lossy(10, vlan, false)},
		{name: "30 % lost on the VLAN of one edge", lasts: 145 * second, gap: 0, cuts: 1, begin: lossy(30, vlan, false)},
		{name: "50 % lost on the VLAN of one edge", lasts: 145 * second, gap: 0, cuts: 6, begin: lossy(50, vlan, false)},
		{name: "30 % lost on the VLAN of both edges", lasts: 145 * second, gap: 0, cuts: 4, begin: lossy(30, vlan, true)},
		{name: "10 % lost on both networks", lasts: 145 * second, gap: 0, cuts: 2, begin: both(10)},
		{name: "30 % lost on both networks", lasts: 145 * second, gap: 0, cuts: 5, begin: both(30)},
	}
}

// firewalled are faults of the VLAN with VMs that drop probes. Then only ARP proves, at times,
// that an edge receives unicast frames. What is not proven moves no VM: the VMs' own kernels
// find the other edge after 40 to 50 s.
func firewalled() []fault {
	const own = 50 * second
	of := map[string]struct {
		gap  time.Duration
		cuts int
	}{
		"node of the active edge lost": {3 * second, 1}, "active edge deaf": {4 * second, 4}, "idle edge deaf": {4 * second, 4},
		"active edge mute": {own, 4}, "idle edge mute": {own, 4}, "VLAN of the active edge cut": {own, 4}, "VLAN partitioned, VMs on both sides": {own, 4},
	}
	var all []fault
	for _, f := range slices.Concat(plain(), ofVLAN()) {
		if bound, ok := of[f.name]; ok {
			f.name, f.gap, f.cuts = f.name+", VMs drop probes", bound.gap, bound.cuts
			f.before = func(w *world) { w.firewalled = true }
			all = append(all, f)
		}
	}
	return all
}

// ofClusterNetwork are the faults between edges and the API server.
func ofClusterNetwork() []fault {
	return []fault{
		{name: "cluster network of the active edge cut", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].cut(cluster, 40*second) }},
		{name: "cluster network of the idle edge cut", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, _, idle int) { w.edges[idle].cut(cluster, 40*second) }},
		{name: "30 % lost on the cluster network of the active edge", lasts: 145 * second, gap: 4 * second, cuts: 3,
			begin: func(w *world, active, _ int) { w.edges[active].loses(cluster, 30, 30, 120*second) }},
		{name: "cluster network of both edges cut", lasts: 90 * second, gap: 4 * second, cuts: 0, silent: true,
			begin: func(w *world, active, idle int) {
				w.edges[active].cut(cluster, 40*second)
				w.edges[idle].cut(cluster, 40*second)
			}},
		{name: "both networks of the active edge cut", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].isolate() }},
		{name: "both networks of the idle edge cut", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, _, idle int) { w.edges[idle].isolate() }},
		// The new pod has no or few answers of VMs yet.
		{name: "both networks of a new edge cut", lasts: 90 * second, gap: 3 * second, cuts: 2,
			begin: func(w *world, _, idle int) {
				w.replace(idle, func() { w.useAgain(idle); w.edges[idle].isolate() })
			}},
		{name: "API server down", lasts: 90 * second, gap: 0, cuts: 0, silent: true,
			begin: func(w *world, _, _ int) { w.stopAPI(w.between(2*second, 60*second)) }},
		{name: "API server down, node of the active edge lost", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) {
				w.stopAPI(60 * second)
				w.after(w.between(5*second, 40*second), func() { w.lose(active, -1) })
			}},
		{name: "API server slow, 1 s", lasts: 90 * second, gap: 0, cuts: 0, silent: true,
			begin: func(w *world, _, _ int) { w.slowAPI(second, 60*second) }},
		{name: "API server slow, 3 s", lasts: 90 * second, gap: 0, cuts: 0, silent: true,
			begin: func(w *world, _, _ int) { w.slowAPI(3*second, 60*second) }},
		{name: "API server dark for the active edge", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].dark(40 * second) }},
		{name: "API server dark for the idle edge", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, _, idle int) { w.edges[idle].dark(40 * second) }},
	}
}

// ofProcesses are the faults of edges and their processes.
func ofProcesses() []fault {
	return []fault{
		{name: "envoy's workers hang", lasts: 90 * second, gap: 4 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].hangEnvoy(30 * second) }},
		{name: "envoy stopped", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].stopEnvoy(30 * second) }},
		{name: "proxy hangs, Envoy carries", lasts: 60 * second, gap: 0, cuts: 0, silent: true,
			begin: func(w *world, active, _ int) { w.edges[active].hangProxy(20 * second) }},
		{name: "dns hangs", lasts: 60 * second, gap: 5 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.edges[active].hangDNS(20 * second) }},
		{name: "agent hangs for less than a second, servers fine", lasts: 60 * second, gap: 0, cuts: 0,
			begin: func(w *world, active, _ int) {
				w.edges[active].stop(w.between(300*time.Millisecond, 950*time.Millisecond))
			}},
		{name: "idle edge frozen for long", lasts: 90 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, _, idle int) { w.edges[idle].freeze(w.between(3*second, 40*second)) }},
		// A new pod learns the addresses of VMs after some seconds. Until then no answer says why its peer is silent.
		{name: "active edge frozen while the idle pod is replaced", lasts: 90 * second, gap: 7 * second, cuts: 2,
			begin: func(w *world, active, idle int) {
				w.after(w.between(0, 8*second), func() { w.edges[active].freeze(w.between(8*second, 30*second)) })
				w.replace(idle, func() {})
			}},
		// Each time the VMs use the edge that stalls.
		{name: "four stalls of one edge within 90 s", lasts: 130 * second, gap: 4 * second, cuts: 4,
			begin: func(w *world, active, _ int) {
				for n := range 4 {
					w.after(time.Duration(n)*w.between(20*second, 22*second), func() { w.useAgain(active); w.edges[active].freeze(14 * second) })
				}
			}},
		{name: "three stalls of the edge in use within 90 s", lasts: 150 * second, gap: 4 * second, cuts: 3,
			begin: func(w *world, _, _ int) {
				for n := range 3 {
					w.after(time.Duration(n)*w.between(28*second, 32*second), func() { w.used().freeze(25 * second) })
				}
			}},
		{name: "two pods of one edge, elder reachable", lasts: 90 * second, gap: 4 * second, cuts: 2,
			begin: func(w *world, _, _ int) { w.twin(0, 70*second) }},
		{name: "two pods of one edge, elder unreachable from the control plane", lasts: 90 * second, gap: 4 * second, cuts: 2,
			begin: func(w *world, _, _ int) {
				elder, _ := w.twin(0, 70*second)
				elder.cut(cluster, 70*second)
			}},
		{name: "two pods of one edge, elder stalled", lasts: 90 * second, gap: 4 * second, cuts: 2,
			begin: func(w *world, _, _ int) {
				w.edges[0].freeze(35 * second)
				w.after(w.between(5*second, 15*second), func() { w.twin(0, 60*second) })
			}},
		{name: "VLAN without traffic, node lost, then VMs", lasts: 90 * second, gap: second, cuts: 1, before: func(w *world) { w.quiet = true },
			begin: func(w *world, active, _ int) {
				w.lose(active, -1)
				w.after(20*second, func() { w.quiet = false })
			}},
	}
}

// newborn are the faults of a pod whose kernel answers long before its agent runs. Without an
// announcement, heartbeats go to the lost pod until the entry of its peer's kernel expires: 53 s
// after the loss, and the new pod comes after 13 s at the earliest.
func newborn() []fault {
	return []fault{
		{name: "node lost, and back long before its agent, announced", lasts: 150 * second, gap: 3 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.renew(active, true) }},
		{name: "node lost, and back long before its agent, silent", lasts: 150 * second, gap: 30 * second, cuts: 1,
			begin: func(w *world, active, _ int) { w.renew(active, false) }},
	}
}

// lossy returns a fault that loses a percentage of one network's frames, in both directions.
func lossy(percent int, of side, all bool) func(*world, int, int) {
	return func(w *world, active, idle int) {
		w.edges[active].loses(of, percent, percent, 120*second)
		if all {
			w.edges[idle].loses(of, percent, percent, 120*second)
		}
	}
}

// both returns a fault that loses a percentage of all frames of one edge.
func both(percent int) func(*world, int, int) {
	return func(w *world, active, idle int) {
		lossy(percent, vlan, false)(w, active, idle)
		lossy(percent, cluster, false)(w, active, idle)
	}
}

// useAgain makes all VMs use an edge, as if they had just started and it answered first.
func (w *world) useAgain(number int) {
	for _, v := range w.vms {
		if p := w.edges[number]; v.conn != p && v.reaches(p) {
			v.conn = nil
			v.hop.take(p, reachable)
			v.hop.updated -= lockTime
		}
	}
}

// used returns the edge that the first VM uses.
func (w *world) used() *pod {
	for _, p := range w.edges {
		if w.vms[0].hop.to() == p {
			return p
		}
	}
	return w.edges[0]
}

// faults returns all faults.
func faults() []fault {
	all := append(slices.Concat(plain(), single(), firewalled()), chain())
	all = append(all, newborn()...)
	for _, f := range plain() {
		f.name += ", no second path"
		f.before = with(f.before, func(w *world) { w.single = true })
		all = append(all, f)
	}
	return all
}

func with(a, b func(*world)) func(*world) {
	return func(w *world) {
		if a != nil {
			a(w)
		}
		b(w)
	}
}

// single are the faults that are played with a second path only.
func single() []fault { return slices.Concat(ofVLAN(), ofClusterNetwork(), ofProcesses()) }

// chain returns six random faults, of which one often begins before the last has ended. A
// fault of two pods is left out: no edge sees the second one if its peer is lost. The bound on
// the gap is what the VMs' own kernels need: with several faults at a time there may be no
// proof.
func chain() fault {
	var of []fault
	for _, f := range append(plain(), single()...) {
		if f.before == nil && !strings.HasPrefix(f.name, "two pods of one edge") {
			of = append(of, f)
		}
	}
	return fault{name: "six random faults", lasts: 220 * second, gap: 50 * second, cuts: 18, begin: func(w *world, active, idle int) {
		begins := time.Duration(0)
		for range 6 {
			f := of[w.rand.IntN(len(of))]
			w.after(begins, func() { w.note("-- %s", f.name); f.begin(w, active, idle) })
			begins += w.between(2*second, 20*second)
		}
	}}
}
