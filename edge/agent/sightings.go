// This file keeps which hosts an edge has seen on the network. A VM can make up any number of
// them, so their number is limited, and forged ones give way. It is a function of what was seen
// and of the time.

package agent

import (
	"cmp"
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
)

const (
	// sightingKept is how long a host is reported after it was last seen.
	sightingKept = time.Hour
	// maxSightings hosts are kept, of which maxReported are reported: the others may turn out to
	// be the true ones.
	maxSightings, maxReported = 16, network.MaxDHCPServers
	// maxWitnesses are told apart for each host.
	maxWitnesses = 8
)

// sightings are the hosts that were seen. The zero value has none.
type sightings []sighting

// A sighting is one host. Its MAC is empty until it is known.
type sighting struct {
	network.UsedAddress
	last time.Time
	// by are the VMs that named the host. They differ for a host that serves many.
	by []string
}

// note takes in a host that a VM named, and reports whether it is new. An empty witness is the
// edge itself. If there are too many hosts, the least credible one gives way.
func (s sightings) note(u network.UsedAddress, witness string, now time.Time) (out sightings, isNew bool) {
	out = slices.Clone(s)
	i := slices.IndexFunc(out, func(x sighting) bool { return x.Address == u.Address && (u.MAC == "" || x.MAC == u.MAC) })
	if isNew = i < 0; isNew {
		slices.SortStableFunc(out, sighting.compare)
		out = append(out[:min(len(out), maxSightings-1)], sighting{UsedAddress: u})
		i = len(out) - 1
	}
	out[i].last = now
	if by := out[i].by; witness != "" && !slices.Contains(by, witness) && len(by) < maxWitnesses {
		out[i].by = append(slices.Clone(by), witness)
	}
	return out, isNew
}

// compare orders the more credible first: named by more VMs, then with a MAC, then seen later.
func (x sighting) compare(y sighting) int {
	known := func(s sighting) int { return min(len(s.MAC), 1) }
	return cmp.Or(len(y.by)-len(x.by), known(y)-known(x), y.last.Compare(x.last))
}

// learn takes in the MACs that the kernel has.
func (s sightings) learn(table []device.Neighbor) sightings {
	out := slices.Clone(s)
	for i := range out {
		for _, n := range table {
			if n.Address == out[i].Address && n.MAC != "" {
				out[i].MAC = n.MAC
			}
		}
	}
	return out
}

// forget returns s without the hosts that were not seen for long.
func (s sightings) forget(now time.Time) sightings {
	return slices.DeleteFunc(slices.Clone(s), func(x sighting) bool { return now.Sub(x.last) > sightingKept })
}

// list returns the most credible hosts, sorted by their addresses.
func (s sightings) list() []network.UsedAddress {
	var out []network.UsedAddress
	all := slices.SortedStableFunc(slices.Values(s), sighting.compare)
	for _, x := range all[:min(len(all), maxReported)] {
		out = append(out, x.UsedAddress)
	}
	slices.SortFunc(out, network.UsedAddress.Compare)
	return out
}
