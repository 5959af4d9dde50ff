// This file decides when an announcement is due, and why. An edge announces only against a
// peer that it is provably better than.

package failover

import (
	"slices"
	"time"
)

const (
	// announceInterval is how often an edge announces while its peer answers ARP and does
	// not serve. A VM's kernel ignores an announcement within a second after its entry
	// changed (neigh/default/locktime), for example after the announcement of a new pod.
	announceInterval = Interval
	// insistFor is how long an edge announces every announceInterval against a peer that is mute or
	// at a lower level. After that, it announces every insistInterval. Between two announcements the
	// kernel repeats the last one each second.
	insistFor      = 3 * time.Second
	insistInterval = 2 * time.Second
)

// lostAt lists when an edge announces against an unreachable peer, as times after the first announcement. The list ends,
// so that two edges that run without hearing each other stop moving VMs.
var lostAt = []time.Duration{0, time.Second, 3 * time.Second, 10 * time.Second}

// aloneAt lists when an edge without a peer announces, as times after the first announcement. Announcements are
// repeated, because an edge that was removed from the plan may still run, and may notice its removal late.
var aloneAt = append(slices.Clone(lostAt), 20*time.Second, 40*time.Second)

// A cause is why an edge announces. Each cause has its own schedule.
type cause string

const (
	noCause  cause = ""
	isAlone  cause = "alone"
	peerGone cause = "peer unreachable"
	// peerSilent: the peer is silent, but its kernel answers. It is frozen, or serves while its messages are lost. In the
	// second case, repeated announcements of the two edges would move VMs back and forth.
	peerSilent     cause = "peer silent"
	vlanCut        cause = "VLAN cut"
	peerMute       cause = "peer mute"
	peerIdle       cause = "peer idle"
	peerImpaired   cause = "peer impaired"
	peerDuplicated cause = "peer duplicated"
)

// Causes returns all causes except "alone", the cause of an edge without a peer.
func Causes() (out []string) {
	for _, c := range []cause{peerGone, peerSilent, vlanCut, peerMute, peerIdle, peerImpaired, peerDuplicated} {
		out = append(out, string(c))
	}
	return out
}

// A schedule records the announcements of an edge for one cause.
type schedule struct {
	cause       cause
	count       int
	first, last time.Time // when the edge announced first and last
}

// announce reports whether an announcement is due at now. The returned state records that announcement.
func (s State) announce(now time.Time) (State, bool) {
	if c := s.causeNow(now); c != s.schedule.cause {
		s.schedule = schedule{cause: c}
	}
	if s.Self.Level == LevelNothing || s.clock.held > 0 || !s.schedule.due(now) {
		return s, false
	}
	if s.schedule.count == 0 {
		s.schedule.first = now
	}
	s.schedule.count, s.schedule.last = s.schedule.count+1, now
	return s, true
}

// causeNow returns the cause to announce, or noCause. The level does not affect it, although an edge at LevelNothing does
// not announce.
func (s State) causeNow(now time.Time) cause {
	switch {
	case s.PeerState == Alone:
		return isAlone
	case s.PeerState == PeerUnreachable:
		return s.silence(now)
	case s.PeerState == PeerIdle:
		if !s.Removed || s.Peer.Phase != Serving && s.PeerHeard() {
			return peerIdle
		}
	case s.Removed:
	case s.PeerState == PeerImpaired:
		return peerImpaired
	case s.Duplicated():
		return peerDuplicated
	}
	return noCause
}

// silence returns the cause to announce against a peer that is unreachable over the VLAN, or noCause. Silence counts only
// while frames arrive, or if the peer is silent on both paths (peerLost).
func (s State) silence(now time.Time) cause {
	switch {
	case s.seen.missed <= s.limit(now) && !s.peerLost():
		return noCause
	case s.seen.peerAnswered(now):
		return peerSilent
	case !s.Heard(ClusterNetwork):
		return peerGone
	case s.sighted >= missable:
		return peerMute
	case s.Peer.Sees && s.schedule.cause != vlanCut:
		return noCause // The peer's messages may be on their way.
	}
	return vlanCut
}

// due reports whether the next announcement for the cause is due.
func (d schedule) due(now time.Time) bool {
	// An announcement that falls due within half an Interval is made now, not one Interval late.
	const early = Interval / 2
	listed := func(at []time.Duration) bool {
		return d.count < len(at) && now.Sub(d.first) >= at[d.count]-early
	}
	every := func(interval time.Duration) bool { return now.Sub(d.last) >= interval-early }
	switch {
	case d.cause == noCause:
		return false
	case d.count == 0:
		return true
	case d.cause == isAlone:
		return listed(aloneAt)
	case d.cause == peerSilent:
		return false
	case d.cause == peerGone || d.cause == vlanCut:
		return listed(lostAt)
	case d.cause == peerIdle || now.Sub(d.first) < insistFor:
		return every(announceInterval)
	}
	return every(insistInterval)
}
