// This file decides whether addresses are free or in use, from the kernel's neighbor table and
// the time. It is pure.

package acd

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const (
	// freeAfter is the least time from the first probe to the verdict that an address is free. See
	// the package documentation.
	freeAfter = 4 * time.Second
	// answerWithin is how long the answer to the last probe may take.
	answerWithin = time.Second
	// recheckInterval is how long after a verdict the check starts again. A kernel trusts an
	// answer for up to 45 s, so a released address is noticed within a minute.
	recheckInterval = 10 * time.Second
	// lookInterval is how often the table is read during a check.
	lookInterval = 100 * time.Millisecond
	// retryInterval is how often a check that cannot start is retried.
	retryInterval = 250 * time.Millisecond
)

// ErrChecking is the status while a first check runs.
var ErrChecking = errors.New("checking for address conflicts")

// A Look is the result of reading the kernel's neighbor table once.
type Look struct {
	// Table holds the addresses that the kernel has an entry for.
	Table map[netip.Addr]device.Neighbor
	// Err is why nothing can be probed: no carrier, or no address yet.
	Err error
}

// A State is a running check. The zero value is one that has not started.
type State struct {
	// since is when the first probe was sent.
	since time.Time
	// probed is when each address was last probed. failed has the addresses whose entry became
	// FAILED.
	probed map[netip.Addr]time.Time
	failed map[netip.Addr]bool
}

// Actions are what to do now.
type Actions struct {
	// Probe are the addresses to probe, all at the same time.
	Probe []netip.Addr
	// Verdict is nil while the check runs.
	Verdict *Verdict
	// Again is after which time to look again.
	Again time.Duration
}

// A Verdict ends a check. The next one starts after Actions.Again.
type Verdict struct {
	// Err is why the addresses are not known to be free. Nil: they are free.
	Err error
	// Answers are all answers, also for control addresses. The operator gets them.
	Answers []reported.UsedAddress
	// Probed: the verdict comes from answers, or from their absence.
	Probed bool
}

// Next returns the state after a look, and what to do, for the addresses that n's edges are to
// hold.
func Next(s State, n network.Network, l Look, now time.Time) (State, Actions) {
	all := slices.Concat(reported.ProbedAddresses(n), reported.Controls(n))
	switch {
	case l.Err != nil:
		return State{}, Actions{Verdict: &Verdict{Err: l.Err}, Again: retryInterval}
	case s.since.IsZero() || !s.covers(all):
		s = State{since: now, probed: map[netip.Addr]time.Time{}, failed: map[netip.Addr]bool{}}
		return s.probe(all, now), Actions{Probe: all, Again: lookInterval}
	}
	s = s.take(l, all)
	if v := s.verdict(n, l, now); v != nil {
		return State{}, Actions{Verdict: v, Again: recheckInterval}
	}
	var again []netip.Addr
	for _, a := range all {
		if e, there := l.Table[a]; !there && s.failed[a] || e.Failed {
			again = append(again, a)
		}
	}
	return s.probe(again, now), Actions{Probe: again, Again: lookInterval}
}

// covers reports whether the check is for exactly these addresses. It is not if the plan has
// changed since.
func (s State) covers(all []netip.Addr) bool {
	return len(s.probed) == len(all) && !slices.ContainsFunc(all, func(a netip.Addr) bool { return s.probed[a].IsZero() })
}

// probe returns the state after addresses were probed at now.
func (s State) probe(addresses []netip.Addr, now time.Time) State {
	s.probed = maps.Clone(s.probed)
	for _, a := range addresses {
		s.probed[a] = now
	}
	return s
}

// take returns the state after a look. It records the addresses of parameter all for which the
// kernel got no answer.
func (s State) take(l Look, all []netip.Addr) State {
	s.failed = maps.Clone(s.failed)
	for _, a := range all {
		if l.Table[a].Failed {
			s.failed[a] = true
		}
	}
	return s
}

// verdict returns the verdict on the addresses, or nil while a host may still answer.
func (s State) verdict(n network.Network, l Look, now time.Time) *Verdict {
	var answers []reported.UsedAddress
	for _, a := range slices.SortedFunc(maps.Keys(l.Table), netip.Addr.Compare) {
		if mac := l.Table[a].MAC; mac != "" && !s.probed[a].IsZero() {
			answers = append(answers, reported.UsedAddress{Address: a, MAC: mac})
		}
	}
	for _, a := range reported.Controls(n) {
		if l.Table[a].MAC == "" && !s.failed[a] {
			return nil
		}
	}
	if conflicts := reported.ConflictingWith(n, answers); len(conflicts) > 0 {
		return &Verdict{Err: inUse(conflicts), Answers: answers, Probed: true}
	}
	for _, a := range reported.ProbedAddresses(n) {
		silent := s.failed[a] && now.Sub(s.probed[a]) >= answerWithin
		if l.Table[a].MAC == "" && !silent {
			return nil
		}
	}
	if now.Sub(s.since) < freeAfter {
		return nil
	}
	return &Verdict{Answers: answers, Probed: true}
}

func inUse(all []reported.UsedAddress) error {
	var out []string
	for _, t := range all {
		out = append(out, fmt.Sprintf("%s by MAC %s", t.Address, t.MAC))
	}
	return fmt.Errorf("addresses in use: %s", strings.Join(out, ", "))
}
