// This file derives gaps and cuts from the times of requests and answers. It is pure.

package measure

import (
	"encoding/json"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"
)

// Milliseconds are a duration, written to JSON as a number of milliseconds.
type Milliseconds time.Duration

// MarshalJSON writes whole milliseconds.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(int64(math.Round(float64(m) / float64(time.Millisecond))))
}

// A Report contains the results of a measurement. All times in it are since Begin.
type Report struct {
	Begin   time.Time        `json:"begin"`
	Seconds float64          `json:"seconds"`
	TLS     Summary          `json:"tls"`
	DNS     Summary          `json:"dns"`
	NTP     Summary          `json:"ntp"`
	DHCP    Renewals         `json:"dhcp"`
	Long    []LongConnection `json:"long,omitempty"`
}

// Failures returns how many requests have failed, plus how often long connections were cut, plus how many of them are cut now.
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

// A Summary contains the results of one kind of request.
type Summary struct {
	Asked int `json:"asked"`
	// Failed is the number of failed requests by reason: refused, reset, closed, unreachable, silent, not synchronized, or the
	// text of the error.
	Failed map[string]int `json:"failed,omitempty"`
	// LongestGap is the longest time from one answer to the next. Without failures, it is about the interval between requests.
	LongestGap Milliseconds `json:"longestGapMs"`
	// Gaps are those longer than four intervals.
	Gaps []Gap `json:"gaps,omitempty"`
}

// Renewals are the results of the renewals of a lease.
type Renewals struct {
	Summary
	// Addresses are those that the lease was renewed for. More than one is a fault.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// A Gap is a time without an answer: when it began, and how long it lasted.
type Gap struct {
	At  Milliseconds `json:"atMs"`
	For Milliseconds `json:"forMs"`
	// Open is true if no answer has ended the gap.
	Open bool `json:"open,omitempty"`
}

// A LongConnection contains the results of a connection that stays open during the measurement: how often it was opened, how many
// answers it got, and how often it was cut.
type LongConnection struct {
	Opened  int   `json:"opened"`
	Answers int   `json:"answers"`
	Cuts    []Cut `json:"cuts"`
	// answered is when the last request with an answer was sent.
	answered Milliseconds
}

// A Cut is the end of a long connection.
type Cut struct {
	At Milliseconds `json:"atMs"`
	// Why is reset, closed or silent, or the text of the error.
	Why string `json:"why"`
	// Back is how long it took until the connection was open again. 0: it was not.
	Back Milliseconds `json:"backMs"`
}

// A series collects the results of one kind of request. Answers may arrive in another order than that of their requests.
type series struct {
	told  Summary
	asked Milliseconds // time of the last request
	heard Milliseconds // time of the last answer; 0 before the first
	short Milliseconds // longest time between answers that is not a gap
	// answered is when the last request with an answer was sent.
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

// with returns the summary with g, unless g is too short to be a gap.
func (s *series) with(g Gap) Summary {
	told := s.told
	told.LongestGap = max(told.LongestGap, g.For)
	if g.For > s.short {
		told.Gaps = append(slices.Clip(told.Gaps), g)
	}
	return told
}

// summary returns the results so far. The time from the last answer to the last request counts as an open gap.
func (s *series) summary() Summary {
	told := s.with(Gap{At: s.heard, For: s.asked - s.heard, Open: true})
	told.Failed = maps.Clone(told.Failed)
	return told
}
