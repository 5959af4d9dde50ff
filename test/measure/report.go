// What is told: gaps and cuts, made of single answers. Nothing is asked here, and no
// clock is read.

package measure

import (
	"encoding/json"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"
)

// Milliseconds are a duration that is a number in JSON.
type Milliseconds time.Duration

// MarshalJSON writes whole milliseconds.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(int64(math.Round(float64(m) / float64(time.Millisecond))))
}

// Report is what was seen. Moments count from Begin.
type Report struct {
	Begin   time.Time        `json:"begin"`
	Seconds float64          `json:"seconds"`
	TLS     Summary          `json:"tls"`
	DNS     Summary          `json:"dns"`
	NTP     Summary          `json:"ntp"`
	DHCP    Renewals         `json:"dhcp"`
	Long    []LongConnection `json:"long,omitempty"`
}

// Failures counts what failed so far: questions, cuts, and connections that are cut now. It
// stays the same once all is well.
func (r Report) Failures() (n int) {
	for _, s := range []Summary{r.TLS, r.DNS, r.NTP, r.DHCP.Summary} {
		for _, failed := range s.Failed {
			n += failed
		}
	}
	for _, l := range r.Long {
		if n += len(l.Cuts); l.Opened == len(l.Cuts) {
			n++
		}
	}
	return n
}

// Summary is the results of one kind of questions.
type Summary struct {
	Asked int `json:"asked"`
	// Failed counts by reason: refused, reset, closed, unreachable, silent, not synchronized, or the error.
	Failed map[string]int `json:"failed,omitempty"`
	// LongestGap is the longest time from one answer to the next: where all is well the
	// interval and what an answer takes, and never shorter than what was lost.
	LongestGap Milliseconds `json:"longestGapMs"`
	// Gaps longer than four intervals.
	Gaps []Gap `json:"gaps,omitempty"`
}

// Renewals are the results of renewing a lease.
type Renewals struct {
	Summary
	// Addresses that it was renewed for: one, where all is well.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// Gap is a time without an answer.
type Gap struct {
	At  Milliseconds `json:"atMs"`
	For Milliseconds `json:"forMs"`
	// Open: there was none since.
	Open bool `json:"open,omitempty"`
}

// LongConnection is a connection that stays open during the whole measurement.
type LongConnection struct {
	Opened  int   `json:"opened"`
	Answers int   `json:"answers"`
	Cuts    []Cut `json:"cuts"`
	// answered is when the last question was asked that has an answer.
	answered Milliseconds
}

// Cut is the end of a connection, as the machine noticed it.
type Cut struct {
	At Milliseconds `json:"atMs"`
	// Why is reset, closed or silent, or the error.
	Why string `json:"why"`
	// Back is how long it took to have another; 0 means there was none any more.
	Back Milliseconds `json:"backMs"`
}

// series is what is kept of one kind of questions; its moments are in any order that
// answers come in.
type series struct {
	told  Summary
	asked Milliseconds // the last question
	heard Milliseconds // the last answer; the beginning before there is one
	short Milliseconds // what is no gap
	// answered is when the last question was asked that has an answer.
	answered Milliseconds
}

func (s *series) ask(at Milliseconds) {
	s.told.Asked++
	s.asked = at
}

func (s *series) answer(at Milliseconds) {
	s.told = s.with(Gap{At: s.heard, For: at - s.heard})
	s.heard = at
}

func (s *series) fail(why string) {
	if s.told.Failed == nil {
		s.told.Failed = map[string]int{}
	}
	s.told.Failed[why]++
}

// with is the summary with one gap more, if it is one.
func (s *series) with(g Gap) Summary {
	told := s.told
	told.LongestGap = max(told.LongestGap, g.For)
	if g.For > s.short {
		told.Gaps = append(slices.Clip(told.Gaps), g)
	}
	return told
}

// summary is what is told at any time. A gap lasts to the last question at least.
func (s *series) summary() Summary {
	told := s.with(Gap{At: s.heard, For: s.asked - s.heard, Open: true})
	told.Failed = maps.Clone(told.Failed)
	return told
}
