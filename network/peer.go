// This file decides which problems follow from what edges see of each other where
// they run. It never decides what an edge does.

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

// States of the peer in a Report, which the failover agent knows too.
const (
	// PeerServing: the peer says that it serves.
	PeerServing = "serving"
	// PeerUnreachable: nothing is heard of the peer.
	PeerUnreachable = "unreachable"
)

// EdgesPartitioned says that edge of n does not hear the other one, though both serve. It
// never blocks: machines are served by whichever they are at.
func (n Network) EdgesPartitioned(edge int) Problem {
	return n.problem(PeerNotHeard, Args{"edge": strconv.Itoa(edge)}, "edge-node-selector").of(n.edge(edge))
}

// edge is the subject of what is found about one of n's edges.
func (n Network) edge(number int) Subject {
	return Subject{Kind: "Edge", Namespace: n.Attachment.Namespace, Name: fmt.Sprintf("%s-%d", n.Attachment.Name, number)}
}

// mostControls are enough: a router, or another cluster's edge, has a few addresses,
// and none of them spread over the CIDR.
const mostControls = 3

// Controls are addresses all over n's CIDR that are not to be ours: who answers for
// each of them answers for any, and says nothing of who has it. Fewer than two where
// the CIDR has no room for them.
func (n Network) Controls() []netip.Addr {
	var out []netip.Addr
	for _, eighth := range []int{4, 6, 2, 5, 3, 7, 1} {
		a := usable(n.CIDR, eighth<<max(0, 32-n.CIDR.Bits())/8)
		if a.IsValid() && !slices.Contains(n.own(), a) && !slices.Contains(out, a) && len(out) < mostControls {
			out = append(out, a)
		}
	}
	return out
}

// ConflictingWith are those of ts that n asks for, in an order and each once. Who
// answers for all Controls is passed over: a router with proxy ARP has none of them.
func (n Network) ConflictingWith(ts []UsedAddress) []UsedAddress {
	all := n.answersForAll(ts)
	return slices.DeleteFunc(sortedTaken(ts), func(t UsedAddress) bool {
		return !slices.Contains(n.ProbedAddresses(), t.Address) || slices.Contains(all, t.MAC)
	})
}

// answersForAll are the MACs, sorted, that answer for all Controls.
func (n Network) answersForAll(ts []UsedAddress) []string {
	controls, answers := n.Controls(), map[string]int{}
	for _, t := range sortedTaken(ts) {
		if slices.Contains(controls, t.Address) {
			answers[t.MAC]++
		}
	}
	var out []string
	for mac, count := range answers {
		if len(controls) > 1 && count == len(controls) {
			out = append(out, mac)
		}
	}
	slices.Sort(out)
	return out
}
