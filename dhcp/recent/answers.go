// This file remembers what hosts answered for addresses that they use without a lease, and which addresses are not
// offered for it. A hostile VM can answer for any address, so few answers count.

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
	// silentFor is how long an address counts as free without being asked for again, answeredFor how long an
	// answer counts, and unprovenFor how long one from the kernel's memory does.
	silentFor, answeredFor, unprovenFor = 30 * time.Second, 5 * time.Minute, 10 * time.Second
	// shownFor is how long a conflict is shown after the last answer.
	shownFor = time.Hour
	// maxHosts and maxSilent answers are remembered, of hosts and of none.
	maxHosts, maxSilent = 256, 4096
	// answersPerMAC count. A router with proxy ARP answers for all addresses, and has none of them.
	answersPerMAC = 8
)

// An Answer is what is known of an address that was asked for. Empty MAC: no host answered. Proven: the host answered
// just now.
type Answer struct {
	MAC    string
	Proven bool
	At     time.Time
}

// counts reports whether the address need not be asked for again.
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

// Answers holds what hosts answered.
type Answers struct {
	// hosts are the addresses for which a host answered, silent those for which none did.
	hosts, silent map[netip.Addr]Answer
}

// NewAnswers returns no answers.
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

// Known reports whether an address need not be asked for now.
func (c *Answers) Known(a netip.Addr, now time.Time) bool {
	return c.hosts[a].MAC != "" && c.hosts[a].counts(now) || c.silent[a].counts(now)
}

// InUse returns the MAC of the host that answered for an address recently, and whether the address is
// spared: of all such addresses, at most so many are.
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

// Conflicts returns the addresses for which hosts without a lease answered in the last hour, with their MACs, sorted.
// Lease returns the one on an address. A VM can make up any of them.
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
