// This file decides the view of a client from its source address, not from the EDNS client subnet (RFC 7871) or the question.

package answers

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// Views holds the names of one network for lookup. They are immutable.
type Views []*View

// NewViews returns the views of n. A view denies all names in the internal domains (without trailing dot) except its own.
func NewViews(n network.Network, internal []string) Views {
	serial := serialOf(n)
	var vs Views
	for _, v := range n.DNS.Views {
		if v.OwnNamesOnly {
			vs = append(vs, newView(n, v, nil, serial)) // Such a view refuses names that it does not have.
			continue
		}
		vs = append(vs, newView(n, v, internal, serial))
	}
	return vs
}

// For returns the view with the longest prefix that matches the client. Of several with equal prefixes, it returns the first.
// Nil: the client is refused.
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

// Keeps reports whether parameter next, a view of the next plan, may keep the cache of the view of vs with the same name. If
// a client moves from another view to view next, next may not: this client would see answers that other clients asked for.
func (vs Views) Keeps(next *View) bool {
	i := slices.IndexFunc(vs, func(w *View) bool { return w.name == next.name && !w.ownNamesOnly })
	return i >= 0 && !slices.ContainsFunc(next.clients, func(p netip.Prefix) bool {
		return !slices.Contains(vs[i].clients, p) && slices.ContainsFunc(vs, func(w *View) bool {
			return w != vs[i] && slices.ContainsFunc(w.clients, p.Overlaps)
		})
	})
}

// ForPods returns the network that a Handler serves to pods of the management cluster: only the names that n has for pods.
func ForPods(n network.Network) network.Network {
	out := network.Network{DNS: network.DNS{Upstreams: network.Upstreams{Mode: network.UpstreamNone}}}
	if n.AnswersPods() {
		out.DNS.Views = []network.View{n.DNS.Pods}
	}
	return out
}
