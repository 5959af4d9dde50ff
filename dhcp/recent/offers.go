// This file remembers recent offers, so that two VMs that start in one second are not
// offered the same address.

package recent

import (
	"net/netip"
	"time"
)

const (
	// offerTime is how long an offer is remembered at least, unless its client gets the lease.
	offerTime = 10 * time.Second
	// maxOffers is how many offers are remembered in each period of offerTime.
	maxOffers = 4096
)

// Offers holds the MACs to which addresses were offered.
type Offers struct{ periods[map[netip.Addr]string] }

// To returns the MAC to which a was offered recently. Empty: none.
func (o *Offers) To(a netip.Addr, now time.Time) string {
	o.turn(now, offerTime, func() map[netip.Addr]string { return map[netip.Addr]string{} })
	if mac, ok := o.current[a]; ok {
		return mac
	}
	return o.former[a]
}

// Add remembers that a was offered to mac, if there is room.
func (o *Offers) Add(a netip.Addr, mac string, now time.Time) {
	if o.To(a, now) == mac || len(o.current) < maxOffers {
		o.current[a] = mac
	}
}

// Remove forgets the offer of an address, since the client now has a lease.
func (o *Offers) Remove(a netip.Addr) {
	delete(o.current, a)
	delete(o.former, a)
}
