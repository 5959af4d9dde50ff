// This file remembers which hosts use addresses without a lease, from their ARP answers. Such addresses are not offered.
// A hostile VM can answer for any address, so only a limited number of answers is accepted.

package recent

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const (
	// silentFor is how long an address without an answer needs no probe. answeredFor is how long an answer is used,
	// and unprovenFor how long one from the kernel's neighbor table is used.
	silentFor, answeredFor, unprovenFor = 30 * time.Second, 5 * time.Minute, 10 * time.Second
	// shownFor is how long a conflict is reported after the last answer.
	shownFor = time.Hour
	// maxHosts is how many answers of hosts are remembered, maxSilent how many probes without an answer.
	maxHosts, maxSilent = 256, 4096
	// If a MAC answers for more than answersPerMAC addresses, all its answers are ignored. A router with proxy ARP answers
	// for all addresses without having them.
	answersPerMAC = 8
)

// An Answer is the result of a probe. Empty MAC: no host answered. Proven: the host answered this probe, so the answer
// is not from the kernel's neighbor table.
type Answer struct {
	MAC    string
	Proven bool
	At     time.Time
}

// counts reports whether the answer is recent enough at now.
func (x Answer) counts(now time.Time) bool {
	age, limit := now.Sub(x.At), answeredFor
	switch {
	case x.MAC == "":
		limit = silentFor
	case !x.Proven:
		limit = unprovenFor
	}
	return age >= 0 && age < limit
}

// Answers holds the results of probes, by address.
type Answers struct {
	// hosts are the addresses for which a host answered, silent those for which no host did.
	hosts, silent map[netip.Addr]Answer
}

// NewAnswers returns an empty Answers.
func NewAnswers() Answers {
	return Answers{hosts: map[netip.Addr]Answer{}, silent: map[netip.Addr]Answer{}}
}

// Hosts reports whether a host answered for any address.
func (c *Answers) Hosts() bool { return len(c.hosts) > 0 }

// Note remembers an answer for an address, if there is room.
func (c *Answers) Note(a netip.Addr, x Answer) {
	delete(c.hosts, a)
	delete(c.silent, a)
	all, limit := c.silent, maxSilent
	if x.MAC != "" {
		all, limit = c.hosts, maxHosts
	}
	if len(all) >= limit {
		maps.DeleteFunc(all, func(_ netip.Addr, old Answer) bool { return !old.counts(x.At) })
	}
	if len(all) < limit {
		all[a] = x
	}
}

// Known reports whether an address needs no probe now.
func (c *Answers) Known(a netip.Addr, now time.Time) bool {
	return c.hosts[a].MAC != "" && c.hosts[a].counts(now) || c.silent[a].counts(now)
}

// InUse returns the MAC of the host that answered for a recently. spared reports whether a must not be offered even if
// no other address is free. If the answer is not proven, or if there are more recent answers than function limit
// returns, a is not spared.
func (c *Answers) InUse(a netip.Addr, now time.Time, limit func() int) (mac string, spared bool) {
	x, ok := c.hosts[a]
	if !ok || !x.counts(now) {
		return "", false
	}
	count, sameMAC := 0, 0
	for _, other := range c.hosts {
		if other.counts(now) {
			count++
			if other.MAC == x.MAC {
				sameMAC++
			}
		}
	}
	if sameMAC > answersPerMAC {
		return "", false
	}
	return x.MAC, x.Proven && count <= limit()
}

// Conflicts returns the addresses for which hosts without a lease answered in the last hour, sorted. lease finds the
// lease on an address. A VM can forge any of these conflicts.
func (c *Answers) Conflicts(now time.Time, lease func(netip.Addr) (network.Lease, bool)) []reported.UsedAddress {
	var out []reported.UsedAddress
	of := map[string]int{}
	for _, x := range c.hosts {
		of[x.MAC]++
	}
	for a, x := range c.hosts {
		l, ok := lease(a)
		if x.Proven && of[x.MAC] <= answersPerMAC && now.Sub(x.At) < shownFor && (!ok || l.MAC != x.MAC) {
			out = append(out, reported.UsedAddress{Address: a, MAC: x.MAC})
		}
	}
	slices.SortFunc(out, reported.UsedAddress.Compare)
	return out
}
