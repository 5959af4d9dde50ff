// Package boots tracks the boot steps of VMs that boot for the first time, as one edge observes them. It tracks a VM from the
// moment when it runs, or sends a DHCPDISCOVER, without ever having had an address. So a node that exists when an edge starts
// is never tracked.
package boots

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// A VM is the state of one VM of the cluster.
type VM struct {
	// Runs is true while the VM runs with an interface on the network.
	Runs bool
	// Leased is true if one of its MACs has a lease, valid or expired.
	Leased bool
}

// Timelines holds the timeline of each tracked VM. The zero value tracks none.
type Timelines struct {
	of map[string]timeline
	// quiet is the time since which no VM is known to have had connections through this edge. Zero: a VM has some. Field from is
	// the time since which this edge judges which VMs are late. Zero: always.
	quiet, from time.Time
}

// A timeline has the time when a VM was first seen, and when each of its steps was first seen.
type timeline struct {
	since time.Time
	seen  map[network.BootStep]time.Time
}

// Discovered records a DHCPDISCOVER of a VM that never had an address.
func (t *Timelines) Discovered(vm string, now time.Time) {
	t.track(vm, now)
	t.saw(vm, network.BootDiscover, now)
}

// track begins the timeline of a VM that has none.
func (t *Timelines) track(vm string, now time.Time) {
	if t.of == nil {
		t.of = map[string]timeline{}
	}
	if _, tracked := t.of[vm]; !tracked {
		t.of[vm] = timeline{now, map[network.BootStep]time.Time{}}
	}
}

// saw records when a step was first seen, if the VM is tracked.
func (t *Timelines) saw(vm string, step network.BootStep, at time.Time) {
	x, tracked := t.of[vm]
	if was, seen := x.seen[step]; tracked && (!seen || at.Before(was)) {
		x.seen[step] = at
	}
}

// Look records vms, the state of all VMs of the cluster by name, and connected, which is Connected of reported.EdgeReport. It
// forgets VMs that are not in vms.
func (t *Timelines) Look(vms map[string]VM, connected string, now time.Time) {
	for name, vm := range vms {
		switch {
		case vm.Leased:
			t.saw(name, network.BootLease, now)
		case vm.Runs:
			t.track(name, now)
		}
	}
	for name := range t.of {
		if _, exists := vms[name]; !exists {
			delete(t.of, name)
		}
	}
	switch {
	case connected != reported.ConnectedYes:
		if t.quiet.IsZero() {
			t.quiet = now
		}
	case !t.quiet.IsZero():
		// VMs that use this edge from now on were nodes of the other edge: each has time to connect again.
		if now.Sub(t.quiet) >= reported.BootLimit {
			t.from = now
		}
		t.quiet = time.Time{}
	}
}

// Saw records steps that the DNS server or the proxy saw, by the names of VMs. It ignores a step from before the timeline: a
// former VM with the same name took it.
func (t *Timelines) Saw(all map[string]map[network.BootStep]time.Time) {
	for vm, steps := range all {
		for step, at := range steps {
			if x, tracked := t.of[vm]; tracked && !at.Before(x.since) {
				t.saw(vm, step, at)
			}
		}
	}
}

// Report returns the boots to report on a network with these steps, at most reported.MaxBoots. Result omitted counts the VMs
// that are not nodes yet and are left out.
func (t *Timelines) Report(steps []network.BootStep, now time.Time) (out []reported.Boot, omitted int) {
	if len(steps) == 0 {
		return nil, 0
	}
	var nodes []reported.Boot
	for vm, x := range t.of {
		b := reported.Boot{VM: vm, Since: x.since, Seen: map[network.BootStep]int{}}
		for _, s := range steps {
			if at, seen := x.seen[s]; seen {
				b.Seen[s] = int(at.Sub(x.since) / time.Second)
			}
		}
		if _, missing := b.Steps(steps); missing == "" {
			nodes = append(nodes, b)
			continue
		}
		b.Late = now.Sub(later(x.proven(), t.from)) >= reported.BootLimit
		out = append(out, b)
	}
	byAge := func(a, b reported.Boot) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.VM, b.VM)) }
	slices.SortFunc(out, byAge)
	slices.SortFunc(nodes, func(a, b reported.Boot) int { return byAge(b, a) })
	omitted = max(0, len(out)-reported.MaxBoots)
	out = append(out, nodes...)
	return out[:min(len(out), reported.MaxBoots)], omitted
}

// proven returns the time of the latest step that another VM cannot forge: that the VM runs, or that it opened a connection.
func (x timeline) proven() time.Time {
	out := x.since
	for _, s := range []network.BootStep{network.BootIgnition, network.BootAPI} {
		out = later(out, x.seen[s])
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
