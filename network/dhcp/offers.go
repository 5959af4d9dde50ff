// This file remembers recent offers, in bounded memory. It only avoids that two VMs
// that start in the same second are offered the same address.

package dhcp

import (
	"net/netip"
	"time"
)

const (
	// offerTime is how long an offer is remembered at least, until its client requests the address.
	offerTime = 10 * time.Second
	// maxOffers are remembered for each such period.
	maxOffers = 4096
)

// offered holds the MACs to which addresses were offered.
type offered struct{ periods[map[netip.Addr]string] }

// to returns the MAC to which a was offered. Empty: none.
func (o *offered) to(a netip.Addr, now time.Time) string {
	o.turn(now, offerTime, func() map[netip.Addr]string { return map[netip.Addr]string{} })
	if mac, ok := o.current[a]; ok {
		return mac
	}
	return o.former[a]
}

func (o *offered) add(a netip.Addr, mac string, now time.Time) {
	if o.to(a, now) == mac || len(o.current) < maxOffers {
		o.current[a] = mac
	}
}

// remove forgets the offer of an address: its client has a lease on it.
func (o *offered) remove(a netip.Addr) {
	delete(o.current, a)
	delete(o.former, a)
}
