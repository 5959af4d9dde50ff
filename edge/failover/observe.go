// This file decides what an edge knows about itself: whether it ran without a pause, whether it
// receives anything, and so its level.

package failover

import "time"

const (
	// hole is the longest time between two ticks of an edge that runs. If it is exceeded, the process was stopped: a
	// stall.
	hole = 3 * Interval
	// heldFor is for how many Intervals after a stall an edge does not announce.
	heldFor = 3
	// hearing is how long after a frame the device counts as receiving. Kernels answer probes once a second at most.
	hearing = 1400 * time.Millisecond
	// answering is how long an answer proves that unicast frames arrive. Kernels answer a
	// closed port once a second at most.
	answering = 2500 * time.Millisecond
	// probing is how long after a probe VMs count as known. It is longer than the pauses between probes.
	probing = 3 * time.Second
	// unansweredLimit is the number of probes without a frame after which the device counts as deaf.
	unansweredLimit = 4
	// The peer alone sends fewer than busyFrames frames in an Interval. After busyFor Intervals in a row with busyFrames
	// or more, VMs use this edge.
	busyFrames = 4
	busyFor    = 10
	// callsInARow is for how many Intervals of a silence an edge calls its peer (Actions.Call) in each one. After that,
	// it calls in every 20th.
	callsInARow = 10
)

// An Observation is what was seen on the device until a tick. The counts only grow; they start at any value.
type Observation struct {
	// NoLink: the device has no carrier, or lacks the edge address.
	NoLink bool
	// Frames is how many frames the device received. 0: unknown, and the device counts as receiving.
	Frames uint64
	// Probed: VMs are known, and this edge probed them at the previous tick.
	Probed bool
	// Answers counts proofs that the device receives unicast frames: ICMP errors for probes, and confirmed entries in the
	// ARP table.
	Answers uint64
	// PeerAnswers counts the refusals of probes by the peer's kernel over the VLAN.
	PeerAnswers uint64
}

// A reception summarizes the observations so far.
type reception struct {
	last                      Observation
	frame, answer, peerAnswer time.Time // when the counts grew
	proof                     time.Time // when an answer to a probe of the present silence arrived
	probed                    time.Time // when VMs were probed
	unanswered                int       // ticks with probes since frame
	busy                      int       // ticks in a row with more frames than heartbeats, while the peer was heard
	missed                    int       // ticks without a message over the VLAN, while frames arrived
}

// wake records a stall if the last tick was more than hole ago. What the edge knows about its peer is then outdated. So
// it does not announce for heldFor Intervals, and reads the queued messages meanwhile.
func (s State) wake(now time.Time) State {
	if !s.clock.last.IsZero() && now.Sub(s.clock.last) > hole {
		s.Self.Stalls++
		s.clock.last, s.clock.held = now, max(s.clock.held, heldFor)
	}
	return s
}

// tick returns the state after an Interval with observation o.
func (s State) tick(o Observation, now time.Time) State {
	held := s.clock.held
	if !o.NoLink {
		held = max(0, held-1)
	}
	s.clock = clock{ticks: s.clock.ticks + 1, last: now, held: held}
	s.answers, s.Twins = [2]int{}, s.Twins.Tick(s.Self.Level != LevelNothing)
	s.refused, s.elder = min(s.refused+1, unbounded), min(s.elder+1, unbounded)
	for i := range s.paths {
		if Path(i) == VLAN && o.NoLink && s.Self.Phase != Draining {
			continue // Without a link nothing arrives, even if the peer sends.
		}
		s.paths[i].silent = min(s.paths[i].silent+1, unbounded)
	}
	if s.sighted++; !s.sightedOnly() {
		s.sighted = 0
	}
	again := s.heals(o, now)
	s.seen = s.seen.next(o, s.paths[VLAN].silent, now)
	if again {
		s.seen.missed = 0 // The peer's messages may take a moment to arrive again, too.
	}
	return s
}

// heals reports whether o shows that frames or answers arrive again after a pause.
func (s State) heals(o Observation, now time.Time) bool {
	return o.Frames != s.seen.last.Frames && (s.Deaf || s.seen.last.NoLink) ||
		o.Answers != s.seen.last.Answers && s.paths[VLAN].silent > missable && s.seen.ignored(now)
}

// next returns the reception after a tick with observation o. Parameter silent counts the Intervals for which the peer
// has been silent on the VLAN.
func (r reception) next(o Observation, silent int, now time.Time) reception {
	was := r.last
	r.last = o
	if silent < 2 {
		if r.busy++; o.Frames-was.Frames < busyFrames {
			r.busy = 0
		}
	}
	if o.Probed {
		r.probed, r.unanswered = now, min(r.unanswered+1, unbounded)
	}
	if o.Frames != was.Frames {
		r.frame, r.unanswered = now, 0
	}
	asked := silent > 2 // The answers are to probes of the previous tick, which was in the silence.
	if o.Answers != was.Answers {
		r.answer = now
		if asked {
			r.proof = now
		}
	}
	if o.PeerAnswers != was.PeerAnswers && asked {
		r.peerAnswer = now
	}
	switch {
	case o.NoLink:
		r.missed = 0
	case r.receives(now) || !r.witnessed():
		r.missed = min(r.missed+1, unbounded)
	}
	return r
}

// probedEvery returns the number of Intervals from one probe to the next while the peer is heard. Until the first answer,
// probes are frequent: an edge without answers does not expect frames, so it cannot notice that it is isolated.
func (r reception) probedEvery() int {
	if r.answer.IsZero() {
		return 3
	}
	return 20
}

// receives reports whether a frame arrived recently.
func (r reception) receives(now time.Time) bool {
	return r.last.Frames == 0 || now.Sub(r.frame) <= hearing
}

// witnessed reports whether a device that works would receive frames. It would if a VM answered a probe before, or if VMs
// used this edge until the peer fell silent.
func (r reception) witnessed() bool { return !r.answer.IsZero() || r.busy >= busyFor }

// ignored reports whether VMs were probed recently, and no VM answered recently.
func (r reception) ignored(now time.Time) bool {
	return !r.probed.IsZero() && now.Sub(r.probed) <= probing && !r.answered(now)
}

// answered reports whether unicast frames arrived recently.
func (r reception) answered(now time.Time) bool {
	return !r.answer.IsZero() && now.Sub(r.answer) <= answering
}

// proven reports whether a probe of the present silence was answered recently.
func (r reception) proven(now time.Time) bool {
	return !r.proof.IsZero() && now.Sub(r.proof) <= answering
}

// peerAnswered reports whether the peer's kernel answered over the VLAN recently.
func (r reception) peerAnswered(now time.Time) bool {
	return !r.peerAnswer.IsZero() && now.Sub(r.peerAnswer) <= answering
}

// deaf reports whether this edge receives nothing although it should. In one case, no frame arrives although this edge
// probes and frames are expected. In the other case, known VMs do not answer, and the peer is silent on the VLAN but
// reports that it sees this edge. If the peer is silent on both paths (peerLost), there is no better edge, and deaf
// returns false.
func (s State) deaf(now time.Time) bool {
	silent := s.paths[VLAN].silent
	switch {
	case s.PeerState == Alone || silent < 2 || s.peerLost():
		return false
	case !s.seen.receives(now) && s.seen.witnessed() && s.seen.unanswered >= unansweredLimit:
		return true
	}
	return silent > missable && s.sightedOnly() && s.seen.ignored(now)
}

// sightedOnly reports whether this edge hears its peer over the cluster network only, and the
// peer sees this edge over the VLAN. Then this edge is deaf, or the peer is mute.
func (s State) sightedOnly() bool {
	return !s.Heard(VLAN) && s.Heard(ClusterNetwork) && s.Peer.Sees
}

// level returns the level of this edge.
func (s State) level() Level {
	switch {
	case s.Self.Phase != Serving || s.Yields || s.Deaf || s.seen.last.NoLink:
		return LevelNothing
	case s.reached:
		return LevelReaches
	}
	return LevelServes
}

// calls reports whether to call (Actions.Call) a peer that is silent on the VLAN. The peer's kernel may still send to a
// previous pod with this edge's address. An edge that yields to a twin calls the twin instead, less often.
func (s State) calls() bool {
	if s.Outdone != "" && !s.seen.last.NoLink {
		return s.Twins.Calls()
	}
	silent, first := s.paths[VLAN].silent, 2
	if s.Peer.Instance == "" {
		first = 1
	}
	return s.PeerState != Alone && !s.Yields && !s.seen.last.NoLink && (silent >= first && silent <= callsInARow || silent > 0 && silent%20 == 0)
}

// probes reports whether to probe over the VLAN: only answers distinguish a peer that is gone from a device that receives
// nothing. In a long silence, probes are less frequent. While the peer is heard, silent is 1 at each tick. Probes then
// find out which VMs answer, and are more frequent until one has answered.
func (s State) probes() bool {
	silent := s.paths[VLAN].silent
	switch {
	case s.PeerState == Alone || s.seen.last.NoLink:
		return false
	case silent < 2:
		return s.clock.ticks%s.seen.probedEvery() == 2
	}
	return silent <= 20 || s.Deaf || silent%4 == 0
}
