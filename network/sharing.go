// This file decides how two hosted clusters share one network. They have no addresses in
// common. A cluster that is served keeps its addresses; if neither is, the older one has
// precedence. No address is moved: the other cluster gets a problem that names the keys to
// set. The other cluster answers only its own VMs, and waits until the first one answers
// only its own, too, as its annotation unknown-clients says: nothing that the other does
// takes clients from the first.

package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// An OtherCluster is another hosted cluster on a network of this one.
type OtherCluster struct {
	// Name is "namespace/name".
	Name string `json:"name"`
	// Older than this cluster. If SameAge is true, the names decided it: creation times do
	// not say which one is older.
	Older   bool `json:"older"`
	SameAge bool `json:"sameAge,omitempty"`
	// On are the networks of its NodePools.
	On []Attachment `json:"on"`
	// Wants is the plan for its request. Empty: refused, or the cluster opted out.
	Wants Plan `json:"wants"`
	// Serves is its plan in force. Empty: no edges run.
	Serves Plan `json:"serves"`
}

// SameNetwork reports whether a and b are the same layer-2 network.
func (a Attachment) SameNetwork(b Attachment) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name || a.Layer2 != "" && a.Layer2 == b.Layer2
}

// yieldTo is o without the secondary networks that another cluster has precedence on. Such
// a primary network is refused. last is this cluster's plan in force.
func (o outcome) yieldTo(others []OtherCluster, last Plan) outcome {
	return o.checked(func(n Network) Problems {
		var ps Problems
		for _, u := range others {
			if theirs, cause := n.yieldsTo(u, last); cause != "" {
				ps = append(ps, n.sharedAddresses(theirs, u, cause))
			} else if !last.has(n) && n.getsOffersFrom(u) {
				ps = append(ps, n.pendingOn(u))
			}
		}
		return ps
	})
}

// answerOwnVMs is p with unknown clients ignored on each network that another cluster
// was on first. last is this cluster's plan in force.
func (p Plan) answerOwnVMs(others []OtherCluster, last Plan) Plan {
	return p.withEach(func(n *Network) {
		if slices.ContainsFunc(others, func(u OtherCluster) bool { return n.joins(u, last) }) {
			n.DHCP.IgnoreUnknownClients = true
		}
	})
}

// joins reports whether u was on n first, so that n answers only the VMs of its own
// cluster. A cluster that is served there and answers all clients continues to do so: no
// other one can end that. Of two that do, the older one continues.
func (n Network) joins(u OtherCluster, last Plan) bool {
	if !slices.ContainsFunc(u.On, n.Attachment.SameNetwork) {
		return false
	}
	i := slices.IndexFunc(last.Networks, func(x Network) bool { return x.Name == n.Name })
	return i < 0 || last.Networks[i].DHCP.IgnoreUnknownClients || u.Older && n.getsOffersFrom(u)
}

// OfferedBy are the names of the others whose plan in force answers all clients on n.
func (n Network) OfferedBy(others []OtherCluster) []string {
	var out []string
	for _, u := range others {
		if n.getsOffersFrom(u) {
			out = append(out, u.Name)
		}
	}
	return out
}

// SharedWith are the names of the others that are on n.
func (n Network) SharedWith(others []OtherCluster) []string {
	var out []string
	for _, u := range others {
		if slices.ContainsFunc(u.On, n.Attachment.SameNetwork) {
			out = append(out, u.Name)
		}
	}
	return out
}

// yieldsTo returns why u has precedence over n, and with which network. No cause: it has not.
func (n Network) yieldsTo(u OtherCluster, last Plan) (other Network, why Cause) {
	byAge := SharedAddresses
	if u.SameAge {
		byAge = SharedAddressesByName
	}
	weServe := func(theirs Network) bool {
		return slices.ContainsFunc(last.Networks, func(x Network) bool { return x.Name == n.Name && x.conflictsWith(theirs) })
	}
	for _, theirs := range u.Serves.Networks {
		switch serve := weServe(theirs); {
		case !n.conflictsWith(theirs) || serve && !u.Older:
		case serve:
			return theirs, byAge
		default:
			return theirs, SharedAddresses
		}
	}
	for _, theirs := range u.Wants.Networks {
		if u.Older && n.conflictsWith(theirs) && !weServe(theirs) {
			return theirs, byAge
		}
	}
	return Network{}, ""
}

func (p Plan) has(n Network) bool {
	return slices.ContainsFunc(p.Networks, func(x Network) bool { return x.Name == n.Name })
}

// getsOffersFrom reports whether u, by its plan in force, offers addresses to n's VMs.
// A cluster without a plan in force does not, so two never wait for each other.
func (n Network) getsOffersFrom(u OtherCluster) bool {
	return slices.ContainsFunc(u.Serves.Networks, func(x Network) bool {
		return x.Attachment.SameNetwork(n.Attachment) && x.runs(ServiceDHCP) && !x.DHCP.IgnoreUnknownClients
	})
}

// pendingOn returns the problem that n waits until the user of u lets it answer only its
// own VMs.
func (n Network) pendingOn(u OtherCluster) Problem {
	return n.problem(SharedNetworkPending, Args{"hostedCluster": u.Name})
}

func (n Network) conflictsWith(other Network) bool {
	keys, _ := n.conflict(other)
	return len(keys) > 0
}

// sharedAddresses returns the problem of addresses that n and theirs have in common.
func (n Network) sharedAddresses(theirs Network, u OtherCluster, c Cause) Problem {
	keys, ranges := n.conflict(theirs)
	return n.problem(c, Args{"hostedCluster": u.Name, "addresses": strings.Join(ranges, ", ")}, keys...)
}

// A usedRange is a range of addresses on a network, and the key that sets it.
type usedRange struct {
	Range
	key string
}

// assigned are the addresses that n's edges hold, and those that DHCP assigns.
func (n Network) assigned() []usedRange {
	var out []usedRange
	for _, a := range n.heldAddresses() {
		out = append(out, usedRange{Range{a, a}, keyEdgeAddresses})
	}
	if !slices.Contains(n.Services, ServiceDHCP) {
		return out
	}
	for _, r := range n.DHCP.Range.Without(n.DHCP.Exclude) {
		out = append(out, usedRange{r, keyDHCPRange})
	}
	for _, r := range n.DHCP.Reservations {
		out = append(out, usedRange{Range{r.Address, r.Address}, keyReservations})
	}
	return out
}

// published are the published addresses. Edges of both clusters may answer for one.
func (n Network) published() []usedRange {
	var out []usedRange
	for _, a := range n.PublishedAddresses {
		out = append(out, usedRange{Range{a, a}, "spec.services"})
	}
	return out
}

// router is the gateway, unless edges are. Both clusters may use one, and neither may assign it.
func (n Network) router() []usedRange {
	if r := n.DHCP.Router; r.IsValid() && r != n.NextHopVIP {
		return []usedRange{{Range{r, r}, keyGateway}}
	}
	return nil
}

// hosts are all addresses of n's CIDR: the router, other hosts, and those that n assigns.
// Another cluster must not publish there, because its edges would answer for these hosts.
func (n Network) hosts() []usedRange {
	return []usedRange{{Range{n.CIDR.Addr(), HostAddress(n.CIDR, -1).Next()}, keyCIDR}}
}

// conflict returns the addresses that n and other both assign, or that one publishes in the
// CIDR of the other, and the keys that set them on n. It is empty unless both are the same
// layer-2 network.
func (n Network) conflict(other Network) (keys, ranges []string) {
	if !n.Attachment.SameNetwork(other.Attachment) {
		return nil, nil
	}
	var met []Range
	compare := func(ours, theirs []usedRange) {
		for _, x := range ours {
			for _, y := range theirs {
				if x.First.Compare(y.Last) <= 0 && y.First.Compare(x.Last) <= 0 {
					met = append(met, Range{later(x.First, y.First), earlier(x.Last, y.Last)})
					keys = append(keys, x.key)
				}
			}
		}
	}
	compare(n.assigned(), other.assigned())
	compare(n.assigned(), other.router())
	compare(n.router(), other.assigned())
	compare(n.hosts(), other.published())
	compare(n.published(), other.hosts())
	slices.Sort(keys)
	for _, r := range merged(met) {
		ranges = append(ranges, r.short())
	}
	return slices.Compact(keys), ranges
}

// Without returns the parts of r that are in none of holes, sorted.
func (r Range) Without(holes []Range) []Range {
	if !r.First.IsValid() {
		return nil
	}
	var out []Range
	for _, h := range merged(holes) {
		if h.Last.Less(r.First) || r.Last.Less(h.First) {
			continue
		}
		if r.First.Less(h.First) {
			out = append(out, Range{r.First, h.First.Prev()})
		}
		if !h.Last.Less(r.Last) {
			return out
		}
		r.First = h.Last.Next()
	}
	return append(out, r)
}

// merged are the same addresses in the fewest ranges, sorted.
func merged(in []Range) []Range {
	var out []Range
	byFirst := func(a, b Range) int { return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last)) }
	for _, r := range slices.SortedFunc(slices.Values(in), byFirst) {
		if i := len(out) - 1; i >= 0 && r.First.Compare(out[i].Last.Next()) <= 0 {
			out[i].Last = later(out[i].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

func later(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return b
	}
	return a
}

func earlier(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return a
	}
	return b
}
