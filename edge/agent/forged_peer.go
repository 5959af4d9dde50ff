// This file decides when another host answers for the peer's edge address. It is a function of
// the MACs that the peer named, of the MAC that the kernel uses, and of the time.

package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge/agent/sightings"
	"github.com/cldmnky/oooi/reported"
)

// maxPeerMACs is how many MACs of the peer's pods, also of former ones, this edge remembers.
const maxPeerMACs = 8

// A peerAddress follows which hosts answer for the peer's edge address. The zero value knows none.
type peerAddress struct {
	// Field own has the MACs that the peer named, the newest last. A new pod of the peer has another MAC.
	own []string
	// mac is the MAC of another host, and since is the time from which the kernel has used it. Empty: the
	// kernel uses a MAC in field own, or has none.
	mac   string
	since time.Time
	found sightings.Hosts
}

// next records two MACs: named, which the peer names, and used, which the kernel has for the
// peer's address a. Another host is found only once the kernel has used its MAC for 5 s
// (constant lasting). Until then, the host may be a new pod of the peer that has not named its
// MAC yet. While named is empty, no host is found.
func (p peerAddress) next(a netip.Addr, named, used string, now time.Time) peerAddress {
	if named != "" && !slices.Contains(p.own, named) {
		p.own = append(slices.Clone(p.own[max(0, len(p.own)+1-maxPeerMACs):]), named)
	}
	p.found = slices.DeleteFunc(p.found.Forget(now), func(s sightings.Host) bool { return s.Address != a || slices.Contains(p.own, s.MAC) })
	switch {
	case named == "":
		return p
	case used == "" || slices.Contains(p.own, used):
		p.mac = ""
		return p
	case used != p.mac:
		p.mac, p.since = used, now
	}
	if now.Sub(p.since) >= lasting {
		p.found, _ = p.found.Note(reported.UsedAddress{Address: a, MAC: used}, "", now)
	}
	return p
}

// twin records mac, the MAC of an edge of another management cluster that has the peer's address a. If
// mac is empty, there is none.
func (p peerAddress) twin(a netip.Addr, mac string, now time.Time) peerAddress {
	if mac != "" && !slices.Contains(p.own, mac) {
		p.found, _ = p.found.Note(reported.UsedAddress{Address: a, MAC: mac}, "", now)
	}
	return p
}
