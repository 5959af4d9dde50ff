package agent

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestForgedSightingsGiveWay: a VM that names made-up hosts for days does not hide the one that
// other VMs name.
func TestForgedSightingsGiveWay(t *testing.T) {
	g := NewWithT(t)
	var s sightings
	at := func(last byte) network.UsedAddress {
		return network.UsedAddress{Address: netip.AddrFrom4([4]byte{192, 168, 100, last})}
	}
	now, isNew := time.Unix(1000, 0), false
	for range 72 {
		now = now.Add(30 * time.Minute)
		s = s.forget(now)
		for i := range byte(100) {
			s, _ = s.note(at(100+i), "evil", now)
		}
	}
	g.Expect(s).To(HaveLen(maxSightings))
	s, isNew = s.note(at(66), "blue-1", now)
	g.Expect(isNew).To(BeTrue())
	for i := range byte(100) {
		s, _ = s.note(at(100+i), "evil", now)
		if i == 2 {
			s, isNew = s.note(at(66), "blue-2", now)
			g.Expect(isNew).To(BeFalse())
		}
	}
	g.Expect(s.list()).To(HaveLen(maxReported))
	g.Expect(s.list()).To(ContainElement(at(66)))
	g.Expect(s.forget(now.Add(sightingKept + 1)).list()).To(BeEmpty())
}
