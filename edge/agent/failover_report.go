// This file decides what an edge reports about itself and its peer. It is a function of the
// failover agent's state and the time.

package agent

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/reported"
)

// errYields is why an edge is not ready while a younger pod replaces it. An edge that yields does
// not serve new VMs.
var errYields = errors.New("a younger pod has the number of this edge, so this pod yields")

// yieldsTo returns why an edge yields, nil if it does not.
func yieldsTo(s failover.State) error {
	switch {
	case s.Outdone != "":
		return fmt.Errorf("edges of another management cluster serve this network (MAC %s), so this pod yields", s.Outdone)
	case s.Yields:
		return errYields
	}
	return nil
}

// errStale is why a peer that serves does not answer new DHCP clients.
var errStale = errors.New("it cannot read its leases")

// lasting is how long a state must last until it is reported. So a restart of the hosted API server or a
// lost heartbeat is not reported. An edge reports immediately that it does not hear its peer, so that
// the operator holds a rollout. It also reports immediately that an edge has two pods.
const lasting = 5 * time.Second

// A view is what an edge reports, with the times that it depends on. The zero view is that of an
// edge that has observed nothing.
type view struct {
	report reported.EdgeReport
	// nextHop is the next-hop VIP, which a twin has, too.
	nextHop netip.Addr
	// latest is the last sight, and changed is when it last changed.
	latest  sight
	changed time.Time
	// differ is when both edges began to serve different plans. Zero: they do not.
	differ time.Time
	// failing is when this edge stopped serving. Zero: it serves.
	failing time.Time
	// peerAddress holds the hosts that answer for the peer's edge address.
	peerAddress peerAddress
	// vipHosts holds the hosts that answer for the addresses that edges share.
	vipHosts vipHosts
}

// A sight is the part of a state that is reported only once it has lasted.
type sight struct {
	level        failover.Level
	peer         failover.PeerState
	deaf, yields bool
}

// next returns the view after the failover agent has state s at now.
func (v view) next(s failover.State, now time.Time) view {
	was := v.report
	r := &v.report
	unknown := s.PeerState == failover.Unknown || s.PeerState == ""
	seen := sight{level: s.Self.Level, peer: s.PeerState, deaf: s.Deaf, yields: s.Yields}
	if seen != v.latest {
		v.latest, v.changed = seen, now
	}
	first := was.Peer == "" || was.Peer == string(failover.Unknown)
	if first || seen.yields != was.Yields || now.Sub(v.changed) >= lasting {
		r.Level, r.Deaf, r.Peer = string(seen.level), seen.deaf, string(seen.peer)
	}
	r.Yields, r.PeerDuplicated = s.Yields, s.Duplicated()
	if r.AddressesInUse = nil; s.Outdone != "" {
		r.AddressesInUse = []reported.UsedAddress{{Address: v.nextHop, MAC: s.Outdone}}
	}
	r.PeerSilent = !unknown && s.PeerState != failover.Alone && !s.Heard(failover.VLAN)
	switch {
	case !differ(s):
		v.differ = time.Time{}
	case v.differ.IsZero():
		v.differ = now
	}
	r.PlansDiffer = !v.differ.IsZero() && now.Sub(v.differ) > reported.PlansDifferAfter
	return v
}

// served returns the view after the servers of this edge were asked: faults has those that do not serve.
func (v view) served(faults []reported.ServerFault, now time.Time) view {
	switch {
	case len(faults) == 0:
		v.failing, v.report.NotServing = time.Time{}, nil
	case v.failing.IsZero():
		v.failing = now
	case now.Sub(v.failing) >= lasting:
		v.report.NotServing = faults
	}
	return v
}

// differ reports whether both edges serve, and name different plans.
func differ(s failover.State) bool {
	serve := s.Self.Phase == failover.Serving && s.Peer.Phase == failover.Serving
	return s.PeerHeard() && serve && s.Self.Plan != "" && s.Peer.Plan != "" && s.Self.Plan != s.Peer.Plan
}

// peerServes returns nil if the peer answers DHCP clients, else why it does not. A peer at a
// lower level still answers, unless it is at LevelNothing. A peer that cannot read its leases
// offers nothing.
func peerServes(s failover.State) error {
	impaired := s.PeerState == failover.PeerImpaired && s.Peer.Level != failover.LevelNothing
	switch {
	case s.Yields:
		return health.Reason{Kind: health.Yields, Text: yieldsTo(s).Error()}
	case (s.PeerState == failover.PeerServing || impaired) && s.Peer.Stale:
		return errStale
	case s.PeerState == failover.PeerServing || impaired:
		return nil
	}
	return errors.New(string(cmp.Or(s.PeerState, failover.Unknown)))
}
