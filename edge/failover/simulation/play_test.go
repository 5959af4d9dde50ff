// This file plays one fault with one seed, and measures what the VMs noticed.

package simulation

import (
	"fmt"
	"time"
)

// An outcome is what the VMs of one world noticed at most.
type outcome struct {
	seed          uint64
	gap           time.Duration
	cuts          int
	announcements int
	// unrest: at the end both edges carry and see each other, and yet a VM does not work or
	// an edge announces.
	unrest bool
	story  string
}

// resolution is how exact a bound on a gap is: VMs try every 50 ms.
const resolution = 50 * time.Millisecond

// calm is the time at the end of a world in which nothing may move any more.
const calm = 10 * time.Second

// within reports whether an outcome is as the table promises.
func (f fault) within(o outcome) bool {
	return o.gap <= f.gap+resolution && o.cuts <= f.cuts && !o.unrest && (!f.silent || o.announcements == 0)
}

// play plays a fault with one seed. Telling: the outcome has the story.
func (f fault) play(seed uint64, telling bool) outcome {
	w := newWorld(seed)
	w.telling = telling
	if f.before != nil {
		f.before(w)
	}
	active := w.settle()
	w.announcements = 0
	f.begin(w, active, 1-active)
	w.run(w.now + f.lasts - calm)
	before := w.announcements
	w.run(w.now + calm)
	o := outcome{seed: seed, announcements: w.announcements, story: w.told(), unrest: w.whole() && w.announcements > before}
	for _, v := range w.vms {
		o.unrest = o.unrest || v.failing && v.w.now-v.since > calm
		o.gap, o.cuts = max(o.gap, v.gap), max(o.cuts, v.cuts)
	}
	return o
}

// whole reports whether nothing is wrong with either edge.
func (w *world) whole() bool {
	for _, p := range w.edges {
		if !p.kernel || !p.carries() || p.stopped || !p.agent || p.filtered || p.vlan.loss != [2]int{} || p.cluster.loss != [2]int{} || w.partitioned {
			return false
		}
	}
	return len(w.alive()) == len(w.edges)
}

// alive returns the pods that exist.
func (w *world) alive() (alive []*pod) {
	for _, p := range w.pods {
		if p.kernel {
			alive = append(alive, p)
		}
	}
	return alive
}

// settle starts the edges and the VMs. It returns the edge that VMs use. A VM that uses the
// other one is there in half of the worlds.
func (w *world) settle() (active int) {
	active = w.rand.IntN(2)
	latest := time.Second
	if w.lateStart {
		latest = 20 * time.Second
	}
	for i := range w.edges {
		w.edges[i] = w.boot(i)
		w.after(w.between(0, latest), func() { w.edges[i].start(w.between(300*time.Millisecond, 3*time.Second)) })
	}
	w.run(10 * time.Second)
	for i, p := range w.edges {
		w.addVM(fmt.Sprintf("VM %d", i+1), p.vlan.side, w.edges[active])
	}
	if w.chance(50) {
		w.addVM("VM 3", 1-active, w.edges[1-active])
	}
	w.run(w.between(12*time.Second, 13*time.Second))
	return active
}
