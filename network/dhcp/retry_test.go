package dhcp

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
)

// TestHeard: a retry is recognized for half a minute, and a new message is not a retry. A
// flood uses bounded memory; then every message counts as a retry and is answered.
func TestHeard(t *testing.T) {
	g := NewWithT(t)
	ask := func(xid uint32, kind dhcpv4.MessageType, mac byte) *dhcpv4.DHCPv4 {
		m := &dhcpv4.DHCPv4{ClientHWAddr: []byte{2, 0, 0, 0, 0, mac}, Options: dhcpv4.Options{}}
		binary.BigEndian.PutUint32(m.TransactionID[:], xid)
		m.UpdateOption(dhcpv4.OptMessageType(kind))
		return m
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	var h heard
	g.Expect(h.again(ask(1, 1, 1), now)).To(BeFalse())
	g.Expect(h.again(ask(1, 1, 1), now)).To(BeTrue())
	g.Expect(h.again(ask(1, 8, 1), now)).To(BeFalse(), "another type")
	g.Expect(h.again(ask(1, 3, 1), now)).To(BeTrue(), "it had to ask twice for the offer")
	g.Expect(h.again(ask(1, 3, 2), now)).To(BeFalse(), "another client's request")
	g.Expect(h.again(ask(3, 1, 1), now)).To(BeFalse())
	g.Expect(h.again(ask(3, 3, 1), now)).To(BeFalse(), "the offer came at once")
	g.Expect(h.again(ask(3, 3, 1), now)).To(BeTrue())
	g.Expect(h.again(ask(2, 1, 1), now)).To(BeFalse(), "another transaction")
	g.Expect(h.again(ask(1, 1, 2), now)).To(BeFalse(), "another client")
	late := now.Add(heardFor - 1)
	g.Expect(h.again(ask(9, 1, 1), late)).To(BeFalse())
	g.Expect(h.again(ask(9, 1, 1), late.Add(heardFor-1))).To(BeTrue(), "also across two times")
	g.Expect(h.again(ask(1, 1, 1), now.Add(3*heardFor))).To(BeFalse(), "long ago")
	g.Expect(h.again(ask(1, 1, 1), now)).To(BeFalse(), "the clock was set back: nothing is known")

	for i := range uint32(3 * maxHeard) {
		g.Expect(h.again(ask(100+i, 1, 1), now)).To(Equal(i >= maxHeard-1))
	}
	for range 2 {
		g.Expect(h.again(ask(1, 1, 1), now)).To(BeTrue())
	}
	later := now.Add(heardFor)
	g.Expect(h.again(ask(1, 1, 1), later)).To(BeTrue())
	g.Expect(h.again(ask(1<<30, 1, 1), later)).To(BeFalse(), "there is room again")
	g.Expect(len(h.recent) + len(h.older)).To(BeNumerically("<=", 2*maxHeard))
}
