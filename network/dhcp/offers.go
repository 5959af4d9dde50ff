// This file remembers recent offers, in bounded memory. It only avoids that two VMs
// that start in the same second are offered the same address.

package dhcp

import (
	"net/netip"
	"time"
)

const (
	offerTime = 10 * time.Second
	maxOffers = 4096
)

// offered holds the offered addresses and their clients.
type offered map[netip.Addr]offer

type offer struct {
	mac   string
	until time.Time
}

func (o offered) to(a netip.Addr, now time.Time) string {
	if x := o[a]; now.Before(x.until) {
		return x.mac
	}
	return ""
}

func (o offered) add(a netip.Addr, mac string, now time.Time) {
	if len(o) >= maxOffers {
		for a, x := range o {
			if !now.Before(x.until) {
				delete(o, a)
			}
		}
	}
	if len(o) < maxOffers {
		o[a] = offer{mac, now.Add(offerTime)}
	}
}
