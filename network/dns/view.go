// This file decides which view a client is in. It looks at the client's source
// address only: neither EDNS client subnet (RFC 7871) nor the question matter.

package dns

import (
	"net/netip"

	"github.com/cldmnky/oooi/network"
)

// Views are all that one network's clients are told, made for lookup. They
// never change: a new plan gives new ones.
type Views []*View

// NewViews makes the views of n. Elsewhere are domains, without trailing dot,
// that are nobody's on this network and are never asked of an upstream: what is
// not in a view's records does not exist there.
func NewViews(n network.Network, elsewhere []string) Views {
	serial := serialOf(n)
	var vs Views
	for _, v := range n.DNS.Views {
		vs = append(vs, newView(n, v, elsewhere, serial))
	}
	return vs
}

// For is the view of a client, the one with the longest matching prefix, the
// first of equal ones. Nil: the client is in none, and is refused.
func (vs Views) For(client netip.Addr) *View {
	var best *View
	bits := -1
	for _, v := range vs {
		for _, p := range v.clients {
			if p.Bits() > bits && p.Contains(client) {
				best, bits = v, p.Bits()
			}
		}
	}
	return best
}
