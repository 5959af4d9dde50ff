// This file decides what follows from the reports of the address conflict detection
// (ACD). It is pure, and probes nothing itself: a pod does (desired/acd.go). When that
// pod runs is decided in package rollout.
//
// Before the first edge of a network exists, a router or another cluster may use the
// addresses that the edges are to hold. A pod that holds one of them probes for the
// others, and edges are created once it is ready. Where edges exist no pod can probe:
// they answer for the addresses. Where someone deleted all edges a moment ago, no
// check is needed, unless they were on another network.

package decide

import (
	"slices"
	"time"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// edgesEnd is how long edges of oooi that were removed may still seem to answer:
// until they have ended, and the kernel of the probing pod, which believes an answer
// for up to a minute, has probed again.
const edgesEnd = (desired.GraceSeconds + 60) * time.Second

// ownedUntilNow reports whether edges of oooi held n's addresses until now: one has
// reported, and reports are removed when an address conflict detection begins. A
// check would find these edges, which may answer for some seconds more.
func (w view) ownedUntilNow(n network.Network) bool {
	return slices.ContainsFunc(w.Last.Networks, func(was network.Network) bool {
		return was.Name == n.Name && derive.SameConfig(was.Attachment.ConfigHash, n.Attachment.ConfigHash) &&
			reported.ProbeAddress(was) == reported.ProbeAddress(n) && slices.Equal(reported.ProbedAddresses(was), reported.ProbedAddresses(n))
	}) && slices.ContainsFunc(w.EdgeReports, func(r gather.NetworkReport) bool { return r.Network == wire.NetworkLabel(n.Name) && r.Edge > 0 })
}

// inUse are the addresses that the address conflict detection of n found in use, now
// or when it probed for others. Edges of oooi that are still ending are ignored.
func (w view) inUse(n network.Network, now time.Time) []reported.UsedAddress {
	acd, exists := w.Edge(wire.ACDDeploymentName(n))
	if !exists || len(w.EdgesOn(wire.NetworkLabel(n.Name))) > 0 || now.Before(acd.Seen.Created.Add(edgesEnd)) {
		return nil
	}
	var out []reported.UsedAddress
	for _, r := range w.EdgeReports {
		if r.Network == wire.NetworkLabel(n.Name) && r.Edge == 0 {
			out = append(out, r.AddressesInUse...)
		}
	}
	return out
}

// inForce is the last plan without the networks with an address that other hosts use.
// No VM was ever served there by our edges, so the user may change them.
func (w view) inForce(now time.Time) network.Plan {
	p := w.Last
	p.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(n network.Network) bool {
		return len(reported.ConflictingWith(n, w.inUse(n, now))) > 0
	})
	return p
}
