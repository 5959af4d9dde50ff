// Package sightings remembers which hosts an edge has seen on the network. A VM can make up any
// number of hosts, so their number is limited, and the least credible ones are dropped.
package sightings

import (
	"cmp"
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/reported"
)

const (
	// Kept is how long a host is reported after it was last seen.
	Kept = time.Hour
	// Max is how many hosts are kept, MaxReported how many are reported. The others may turn out to
	// be the true ones.
	Max, MaxReported = 16, reported.MaxDHCPServers
	// maxWitnesses is how many names of VMs are kept for each host.
	maxWitnesses = 8
)

// Hosts are the hosts that were seen. The zero value has none.
type Hosts []Host

// A Host is one host. Its MAC is empty until it is known.
type Host struct {
	reported.UsedAddress
	last time.Time
	// Field by has the VMs that named the host. A true server is named by several VMs.
	by []string
}

// Note records a host, and reports whether it is new. witness is the VM that named the host.
// Empty: the edge itself saw it. If there are too many hosts, the least credible one is dropped.
func (s Hosts) Note(u reported.UsedAddress, witness string, now time.Time) (out Hosts, isNew bool) {
	out = slices.Clone(s)
	i := slices.IndexFunc(out, func(x Host) bool { return x.Address == u.Address && (u.MAC == "" || x.MAC == u.MAC) })
	if isNew = i < 0; isNew {
		slices.SortStableFunc(out, Host.compare)
		out = append(out[:min(len(out), Max-1)], Host{UsedAddress: u})
		i = len(out) - 1
	}
	out[i].last = now
	if by := out[i].by; witness != "" && !slices.Contains(by, witness) && len(by) < maxWitnesses {
		out[i].by = append(slices.Clone(by), witness)
	}
	return out, isNew
}

// compare orders more credible hosts first: named by more VMs, then with a MAC, then seen later.
func (x Host) compare(y Host) int {
	known := func(s Host) int { return min(len(s.MAC), 1) }
	return cmp.Or(len(y.by)-len(x.by), known(y)-known(x), y.last.Compare(x.last))
}

// Learn returns s with the MACs in table.
func (s Hosts) Learn(table []device.Neighbor) Hosts {
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

// Forget returns s without the hosts that were last seen longer than Kept ago.
func (s Hosts) Forget(now time.Time) Hosts {
	return slices.DeleteFunc(slices.Clone(s), func(x Host) bool { return now.Sub(x.last) > Kept })
}

// List returns the most credible hosts, sorted by their addresses.
func (s Hosts) List() []reported.UsedAddress {
	var out []reported.UsedAddress
	all := slices.SortedStableFunc(slices.Values(s), Host.compare)
	for _, x := range all[:min(len(all), MaxReported)] {
		out = append(out, x.UsedAddress)
	}
	slices.SortFunc(out, reported.UsedAddress.Compare)
	return out
}
