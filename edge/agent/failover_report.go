// This file decides what an edge reports about itself and its peer. It is a function of the
// failover agent's state and the time.

package agent

import (
	"errors"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/network"
)

// ErrYields is why an edge is not ready that a younger pod replaces. It serves no new VM.
var ErrYields = errors.New("a younger pod has the number of this edge, so this pod yields")

// A view is what an edge reports, with the times that it depends on. The zero value has seen
// nothing.
type view struct {
	report network.Report
	// differ is since when both edges serve different plans. Zero: they do not.
	differ time.Time
}

// next returns the view after s was seen.
func (v view) next(s failover.State, now time.Time) view {
	was := v.report
	r := &v.report
	known := s.PeerState != failover.Alone && s.PeerState != failover.Unknown && s.PeerState != ""
	r.Level, r.Peer, r.PeerSilent = string(s.Self.Level), string(s.PeerState), known && !s.Heard(failover.VLAN)
	r.PeerDuplicated, r.Yields = s.Duplicated(), s.Yields
	if r.Peer != was.Peer || r.PeerSilent != was.PeerSilent {
		r.PeerSince = now
	}
	switch {
	case !differ(s):
		v.differ = time.Time{}
	case v.differ.IsZero():
		v.differ = now
	}
	r.PlansDiffer = !v.differ.IsZero() && now.Sub(v.differ) > network.PlansDifferAfter
	return v
}

// differ reports whether both edges serve, and name different plans. An earlier version may
// name the same plan otherwise.
func differ(s failover.State) bool {
	heard := s.Heard(failover.VLAN) || s.Heard(failover.ClusterNetwork)
	serve := s.Self.Phase == failover.Serving && s.Peer.Phase == failover.Serving
	return heard && serve && s.Peer.Level != "" && s.Self.Plan != "" && s.Peer.Plan != "" && s.Self.Plan != s.Peer.Plan
}

// peerServes returns nil if the peer answers DHCP clients, else why it does not. A peer that
// is worth less than this edge still does, unless it is worth nothing.
func peerServes(s failover.State) error {
	impaired := s.PeerState == failover.PeerImpaired && s.Peer.Level != failover.LevelNothing
	switch {
	case s.Yields:
		return edge.Yields(ErrYields.Error())
	case s.PeerState == failover.PeerServing || impaired:
		return nil
	case s.PeerState == "":
		return errors.New(string(failover.Unknown))
	}
	return errors.New(string(s.PeerState))
}
