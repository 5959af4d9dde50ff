// This file decides what follows from the address conflict detection (ACD). A pod does the probing
// (desired/acd.go), and package rollout decides when it runs.
//
// Before the first edge of a network exists, a router or another cluster may use the addresses that the edges will
// hold. A pod that holds one of them probes for the others. Edges are created once the pod is ready. While edges exist,
// no pod can probe, because the edges answer for the addresses. If all edges were deleted a moment ago, no check is
// needed. But it is needed if they were on another network, or yielded to edges of another management cluster. Edges
// that a backup tool restored are removed before the check: other hosts may have got their addresses since the backup.

package decide

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// edgesEnd is how long removed edges may still seem to answer. First, they have to end. Then the kernel of the probing
// pod believes an earlier answer for up to a minute.
const edgesEnd = (desired.GraceSeconds + 60) * time.Second

// ownedUntilNow reports whether edges of oooi held n's addresses a moment ago, and may answer for some seconds more.
// Such an edge has reported, because reports are removed when a check begins. The reports of a restored plan may be
// restored as well, and do not count.
func (w view) ownedUntilNow(n network.Network) bool {
	restored := slices.ContainsFunc(w.Owned, func(o metav1.PartialObjectMetadata) bool {
		return o.GroupVersionKind() == own.ConfigMapKind && o.Name == wire.PlanConfigMap && !own.MadeFor(&o, w.ControlPlane)
	})
	return !restored && slices.ContainsFunc(w.Last.Networks, func(was network.Network) bool {
		return was.Name == n.Name && derive.SameConfig(was.Attachment.ConfigHash, n.Attachment.ConfigHash) &&
			reported.ProbeAddress(was) == reported.ProbeAddress(n) && slices.Equal(reported.ProbedAddresses(was), reported.ProbedAddresses(n))
	}) && slices.ContainsFunc(w.EdgeReports, func(r gather.NetworkReport) bool { return r.Network == wire.NetworkLabel(n.Name) && r.Edge > 0 })
}

// lost reports whether each edge of n yields to edges of another management cluster. Hosts on the network can forge
// that, so package rollout believes it only while no edge serves.
func (w view) lost(n network.Network) bool {
	label, yield := wire.NetworkLabel(n.Name), 0
	for _, r := range w.EdgeReports {
		if r.Network == label && r.Edge > 0 && len(r.AddressesInUse) > 0 {
			yield++
		}
	}
	return yield > 0 && yield >= len(w.EdgesOn(label))
}

// restored reports whether a backup tool created e again.
func (w view) restored(e gather.Edge) bool { return !own.MadeFor(&e.Live, w.ControlPlane) }

func (w view) restoredEdges() []metav1.PartialObjectMetadata {
	var out []metav1.PartialObjectMetadata
	for _, e := range w.Edges {
		if e.Role == gather.RoleEdge && !slices.ContainsFunc(w.EdgesOn(e.Network), func(x gather.Edge) bool { return !w.restored(x) }) {
			out = append(out, own.MetadataOf(own.DeploymentKind, &e.Live))
		}
	}
	return out
}

// inUse returns the addresses that the check of n found in use. It returns nil while edges of oooi exist, or may still
// answer because they are ending.
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

// inForce returns the last plan without networks on which other hosts have an address of the edges. Edges never served
// VMs there, so the user may change these addresses.
func (w view) inForce(now time.Time) network.Plan {
	p := w.Last
	p.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(n network.Network) bool {
		return len(reported.ConflictingWith(n, w.inUse(n, now))) > 0
	})
	return p
}
