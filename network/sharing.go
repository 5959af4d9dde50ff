// This file decides how two hosted clusters live on one segment: each answers
// only its own machines, and neither has an address that the other has. Who is
// served keeps what it has; where neither is, the older goes first. It never
// moves an address: who must give way is told which keys to set.

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
	// Older than this cluster.
	Older bool `json:"older"`
	// On are the networks that its NodePools name.
	On []Attachment `json:"on"`
	// Wants is what it asks for, empty where that is refused or it has opted out.
	Wants Plan `json:"wants"`
	// Serves is the plan in force there, empty where nothing of ours runs.
	Serves Plan `json:"serves"`
}

// SameNetwork says whether machines attached by a and by b meet.
func (a Attachment) SameNetwork(b Attachment) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name || a.Layer2 != "" && a.Layer2 == b.Layer2
}

// yielding is p without the networks that give way to a neighbour. One that
// machines boot by stays in it, and its problem blocks. last is the plan in force
// here.
func (p Plan) yielding(others []OtherCluster, last Plan) (Plan, Problems) {
	return p.checked(func(n Network) Problems {
		var ps Problems
		for _, u := range others {
			if theirs, yields := n.yieldsTo(u, last); yields {
				ps = append(ps, n.shared(theirs, u))
			} else if !last.has(n) && n.strangersTo(u) {
				ps = append(ps, n.waitsFor(u))
			}
		}
		return ps
	})
}

// checked is p without the networks of which fault says something: what machines
// don't boot by is left out, and keeps nothing else from being served.
func (p Plan) checked(fault func(Network) Problems) (Plan, Problems) {
	var problems Problems
	out := p
	out.Networks = []Network{}
	for _, n := range p.Networks {
		ps := fault(n)
		if len(ps) > 0 && !n.Primary {
			problems = append(problems, ps.notBlocking()...)
			continue
		}
		problems = append(problems, ps...)
		out.Networks = append(out.Networks, n)
	}
	return out, problems
}

// answeringOwnVMs is p where a network that a neighbour is on too serves none but
// the cluster's own machines.
func (p Plan) answeringOwnVMs(others []OtherCluster) Plan {
	out := p
	out.Networks = slices.Clone(p.Networks)
	for i, n := range out.Networks {
		if len(n.SharedWith(others)) > 0 {
			out.Networks[i].DHCP.IgnoreUnknownClients = true
		}
	}
	return out
}

// OfferedBy are the names of the others that are on n too and whose plan in
// force still answers every machine there.
func (n Network) OfferedBy(others []OtherCluster) []string {
	var out []string
	for _, u := range others {
		if n.strangersTo(u) {
			out = append(out, u.Name)
		}
	}
	return out
}

// SharedWith are the names of the others that are on n too.
func (n Network) SharedWith(others []OtherCluster) []string {
	var out []string
	for _, u := range others {
		if slices.ContainsFunc(u.On, n.Attachment.SameNetwork) {
			out = append(out, u.Name)
		}
	}
	return out
}

// yieldsTo says whether n gives way to u, and to which of its networks.
func (n Network) yieldsTo(u OtherCluster, last Plan) (Network, bool) {
	weServe := func(theirs Network) bool {
		return slices.ContainsFunc(last.Networks, func(x Network) bool { return x.Name == n.Name && x.meets(theirs) })
	}
	for _, theirs := range u.Serves.Networks {
		if n.meets(theirs) && (u.Older || !weServe(theirs)) {
			return theirs, true
		}
	}
	for _, theirs := range u.Wants.Networks {
		if u.Older && n.meets(theirs) && !weServe(theirs) {
			return theirs, true
		}
	}
	return Network{}, false
}

func (p Plan) has(n Network) bool {
	return slices.ContainsFunc(p.Networks, func(x Network) bool { return x.Name == n.Name })
}

// strangersTo says whether u, by its plan in force, offers addresses to n's
// machines. One that only begins never does, so two never wait for each other.
func (n Network) strangersTo(u OtherCluster) bool {
	return slices.ContainsFunc(u.Serves.Networks, func(x Network) bool {
		return x.Attachment.SameNetwork(n.Attachment) && x.runs(ServiceDHCP) && !x.DHCP.IgnoreUnknownClients
	})
}

// waitsFor says that n begins once u answers its own machines only.
func (n Network) waitsFor(u OtherCluster) Problem {
	return n.problem(SharedNetworkPending, Args{"hostedCluster": u.Name})
}

func (n Network) meets(other Network) bool {
	keys, _ := n.clash(other)
	return len(keys) > 0
}

// shared says to n's user what to change.
func (n Network) shared(theirs Network, u OtherCluster) Problem {
	keys, ranges := n.clash(theirs)
	return n.problem(SharedAddresses, Args{"hostedCluster": u.Name, "addresses": strings.Join(ranges, ", ")}, keys...)
}

// A holding is a run of addresses on a segment, and the key that says it.
type holding struct {
	Range
	key string
}

// holdings are the addresses that n's edges hold, and those that they give out.
func (n Network) holdings() []holding {
	var out []holding
	for _, a := range n.own() {
		out = append(out, holding{Range{a, a}, keyEdgeAddresses})
	}
	if !slices.Contains(n.Services, ServiceDHCP) {
		return out
	}
	for _, r := range n.DHCP.Range.without(n.DHCP.Exclude) {
		out = append(out, holding{r, keyDHCPRange})
	}
	for _, r := range n.DHCP.Reservations {
		out = append(out, holding{Range{r.Address, r.Address}, keyReservations})
	}
	return out
}

// passes are addresses that n's machines reach and that others may reach as
// well, but not have: what HyperShift published, and the gateway.
func (n Network) passes() []holding {
	var out []holding
	for _, a := range n.PublishedAddresses {
		out = append(out, holding{Range{a, a}, "spec.services"})
	}
	if r := n.DHCP.Router; r.IsValid() && r != n.NextHopVIP {
		out = append(out, holding{Range{r, r}, keyGateway})
	}
	return out
}

// clash are the keys by which n has what other has, and those addresses. None
// where the two are not on one segment.
func (n Network) clash(other Network) (keys, ranges []string) {
	if !n.Attachment.SameNetwork(other.Attachment) {
		return nil, nil
	}
	var met []Range
	compare := func(ours, theirs []holding) {
		for _, x := range ours {
			for _, y := range theirs {
				if x.First.Compare(y.Last) <= 0 && y.First.Compare(x.Last) <= 0 {
					met = append(met, Range{later(x.First, y.First), earlier(x.Last, y.Last)})
					keys = append(keys, x.key)
				}
			}
		}
	}
	compare(n.holdings(), other.holdings())
	compare(n.holdings(), other.passes())
	compare(n.passes(), other.holdings())
	slices.Sort(keys)
	for _, r := range joined(met) {
		if r.First == r.Last {
			ranges = append(ranges, r.First.String())
			continue
		}
		ranges = append(ranges, r.String())
	}
	return slices.Compact(keys), ranges
}

// without is what is left of r.
func (r Range) without(holes []Range) []Range {
	if !r.First.IsValid() {
		return nil
	}
	var out []Range
	for _, h := range joined(holes) {
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

// joined are the same addresses in as few ranges as there can be, sorted.
func joined(in []Range) []Range {
	var out []Range
	for _, r := range slices.SortedFunc(slices.Values(in), func(a, b Range) int { return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last)) }) {
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
