// This file decides when another host answers for the peer's edge address. It is a function of
// the MACs that the peer named, of the MAC that the kernel uses, and of the time.

package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/network"
)

const (
	// forgedKept is how long such a host is reported after it was last seen.
	forgedKept = time.Hour
	// maxForged hosts are reported, and maxPeerMACs of the peer's former pods are known.
	maxForged, maxPeerMACs = 4, 8
)

// A peerAddress follows which hosts answer for the peer's edge address. The zero value has
// seen none.
type peerAddress struct {
	// own are the MACs that the peer named, the newest last. A new pod of it has a new one.
	own []string
	// mac is of another host since a time. Empty: the kernel uses one of own.
	mac   string
	since time.Time
	// found is when each host was last seen.
	found []forger
}

type forger struct {
	network.UsedAddress
	last time.Time
}

// next takes in the MAC that the peer names, and the one that the kernel has for its address
// a. A host counts after lasting: a new pod of the peer may not have named its MAC yet.
func (p peerAddress) next(a netip.Addr, named, used string, now time.Time) peerAddress {
	if named != "" && !slices.Contains(p.own, named) {
		p.own = append(slices.Clone(p.own[max(0, len(p.own)+1-maxPeerMACs):]), named)
	}
	p.found = slices.DeleteFunc(slices.Clone(p.found), func(f forger) bool {
		return f.Address != a || now.Sub(f.last) > forgedKept || slices.Contains(p.own, f.MAC)
	})
	switch {
	case used == "" || len(p.own) == 0 || slices.Contains(p.own, used):
		p.mac = ""
		return p
	case used != p.mac:
		p.mac, p.since = used, now
	}
	if now.Sub(p.since) < lasting {
		return p
	}
	u := network.UsedAddress{Address: a, MAC: used}
	i := slices.IndexFunc(p.found, func(f forger) bool { return f.UsedAddress == u })
	switch {
	case i >= 0:
		p.found[i].last = now
	case len(p.found) < maxForged:
		p.found = append(p.found, forger{u, now})
	}
	return p
}

// hosts are those to report.
func (p peerAddress) hosts() []network.UsedAddress {
	var out []network.UsedAddress
	for _, f := range p.found {
		out = append(out, f.UsedAddress)
	}
	return out
}
