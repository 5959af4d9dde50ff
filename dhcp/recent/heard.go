// This file remembers messages to recognize retries. A retry shows that the selected edge did not reply to the
// first message.

package recent

import (
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

const (
	// If a message with a new transaction comes at least secondTry after the first one, it is a retry. seriesGap
	// is the longest time between two tries. Clients retry after two to four seconds.
	secondTry, seriesGap = time.Second, 10 * time.Second
	// heardFor is the minimum time for which a question is remembered.
	heardFor = 30 * time.Second
	// maxHeard is how many questions are remembered in each period of heardFor.
	maxHeard = 4096
)

// A question identifies the tries of a client that belong together. The transaction does not: some
// clients (NetworkManager's) choose a new transaction for each try.
type question struct {
	mac  [6]byte
	kind dhcpv4.MessageType
}

// A series is the tries of one question, each at most seriesGap after the previous one.
type series struct {
	xid         dhcpv4.TransactionID // Of the last try
	first, last time.Time
	again       bool
}

// Heard holds the questions of the last heardFor, and of the period before.
type Heard struct{ periods[map[question]series] }

// Again records m. It reports whether m is a retry, or continues an exchange in which the client had to
// retry. If the table is full, it returns true: two replies are better than none.
func (h *Heard) Again(m *dhcpv4.DHCPv4, now time.Time) bool {
	h.turn(now, heardFor, func() map[question]series { return map[question]series{} })
	q := question{kind: m.MessageType()}
	copy(q.mac[:], m.ClientHWAddr)
	s, known := h.of(q)
	if _, recently := h.current[q]; !recently && len(h.current) >= maxHeard {
		return true
	}
	switch late := now.Sub(s.last) > seriesGap || now.Before(s.last); {
	case known && s.xid == m.TransactionID:
		s.again = true
	case !known || late:
		s = series{first: now, again: h.went(q, now)}
	default:
		s.again = s.again || now.Sub(s.first) >= secondTry
	}
	s.xid, s.last = m.TransactionID, now
	h.current[q] = s
	return s.again
}

// went ends the previous series of a client that continues from DISCOVER to REQUEST, or starts again with
// DISCOVER after a REQUEST. It reports whether the client had to retry in that series.
func (h *Heard) went(to question, now time.Time) bool {
	from := question{to.mac, dhcpv4.MessageTypeDiscover}
	switch to.kind {
	case dhcpv4.MessageTypeRequest:
	case dhcpv4.MessageTypeDiscover:
		from.kind = dhcpv4.MessageTypeRequest
	default:
		return false
	}
	s, _ := h.of(from)
	delete(h.current, from)
	delete(h.former, from)
	return s.again && now.Sub(s.last) <= seriesGap
}

// of returns the series of a question. False: the question was not heard recently.
func (h *Heard) of(q question) (series, bool) {
	if s, ok := h.current[q]; ok {
		return s, true
	}
	s, ok := h.former[q]
	return s, ok
}
