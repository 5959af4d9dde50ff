package recent

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
)

// ask is a message of a client in a transaction.
func ask(xid uint32, kind dhcpv4.MessageType, mac byte) *dhcpv4.DHCPv4 {
	m := &dhcpv4.DHCPv4{ClientHWAddr: []byte{2, 0, 0, 0, 0, mac}, Options: dhcpv4.Options{}}
	binary.BigEndian.PutUint32(m.TransactionID[:], xid)
	m.UpdateOption(dhcpv4.OptMessageType(kind))
	return m
}

// TestHeard: a retry is recognized for half a minute, and a new message is not a retry. A
// flood uses bounded memory; then every message counts as a retry and is answered.
func TestHeard(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	var h Heard
	g.Expect(h.Again(ask(1, 1, 1), now)).To(BeFalse())
	g.Expect(h.Again(ask(1, 1, 1), now)).To(BeTrue())
	g.Expect(h.Again(ask(1, 8, 1), now)).To(BeFalse(), "another type")
	g.Expect(h.Again(ask(1, 3, 1), now)).To(BeTrue(), "it had to ask twice for the offer")
	g.Expect(h.Again(ask(1, 3, 2), now)).To(BeFalse(), "another client's request")
	g.Expect(h.Again(ask(3, 1, 3), now)).To(BeFalse())
	g.Expect(h.Again(ask(3, 3, 3), now)).To(BeFalse(), "the offer came at once")
	g.Expect(h.Again(ask(3, 3, 3), now)).To(BeTrue())
	g.Expect(h.Again(ask(1, 1, 2), now)).To(BeFalse(), "another client")
	late := now.Add(heardFor - 1)
	g.Expect(h.Again(ask(9, 1, 1), late)).To(BeFalse(), "another transaction, long after")
	g.Expect(h.Again(ask(9, 1, 1), late.Add(heardFor-1))).To(BeTrue(), "also across two times")
	g.Expect(h.Again(ask(9, 1, 1), now.Add(4*heardFor))).To(BeFalse(), "long ago")
	g.Expect(h.Again(ask(9, 1, 1), now)).To(BeFalse(), "the clock was set back: nothing is known")

	flood := func(i int) *dhcpv4.DHCPv4 {
		m := ask(uint32(i), 1, 0)
		binary.BigEndian.PutUint32(m.ClientHWAddr[2:], uint32(i)+1<<8)
		return m
	}
	for i := range 3 * maxHeard {
		g.Expect(h.Again(flood(i), now)).To(Equal(i >= maxHeard-1))
	}
	for range 2 {
		g.Expect(h.Again(ask(1, 1, 77), now)).To(BeTrue())
	}
	later := now.Add(heardFor)
	g.Expect(h.Again(flood(0), later)).To(BeTrue())
	g.Expect(h.Again(ask(1<<30, 1, 77), later)).To(BeFalse(), "there is room again")
	g.Expect(len(h.current) + len(h.former)).To(BeNumerically("<=", 2*maxHeard))
}

// TestSecondTries: a client that uses a new transaction for each try is recognized by its MAC and the message type, if its last try was a
// moment ago.
func TestSecondTries(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	type try struct {
		after time.Duration // The first one
		kind  dhcpv4.MessageType
		mac   byte
		again bool
	}
	for name, tries := range map[string][]try{
		"NetworkManager's DISCOVER":        {{0, 1, 1, false}, {2 * time.Second, 1, 1, true}, {6 * time.Second, 1, 1, true}},
		"the REQUEST for that offer":       {{0, 1, 1, false}, {2 * time.Second, 1, 1, true}, {2 * time.Second, 3, 1, true}},
		"a REQUEST after an offer at once": {{0, 1, 1, false}, {0, 3, 1, false}},
		"NetworkManager's REQUEST":         {{0, 1, 1, false}, {0, 3, 1, false}, {2 * time.Second, 3, 1, true}},
		"a second boot":                    {{0, 1, 1, false}, {0, 3, 1, false}, {2 * time.Second, 1, 1, false}, {4 * time.Second, 1, 1, true}},
		"the REQUEST of a second boot":     {{0, 1, 1, false}, {0, 3, 1, false}, {2 * time.Second, 1, 1, false}, {2 * time.Second, 3, 1, false}},
		"REQUESTs without an answer":       {{0, 1, 1, false}, {0, 3, 1, false}, {2 * time.Second, 3, 1, true}, {4 * time.Second, 1, 1, true}},
		"another client":                   {{0, 1, 1, false}, {2 * time.Second, 1, 2, false}},
		"another type":                     {{0, 1, 1, false}, {2 * time.Second, 3, 1, false}},
		"too soon for a try":               {{0, 1, 1, false}, {secondTry - 1, 1, 1, false}},
		"many in a row":                    {{0, 1, 1, false}, {secondTry - 1, 1, 1, false}, {secondTry, 1, 1, true}},
		"too late for a try":               {{0, 1, 1, false}, {seriesGap + 1, 1, 1, false}},
		"a series long ago":                {{0, 1, 1, false}, {2 * time.Second, 1, 1, true}, {13 * time.Second, 3, 1, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var h Heard
			for i, x := range tries {
				NewWithT(t).Expect(h.Again(ask(uint32(i), x.kind, x.mac), start.Add(x.after))).To(Equal(x.again), "message %d", i)
			}
		})
	}
}
