package sightings

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/reported"
)

// TestForgedSightingsGiveWay: a VM that names made-up hosts for days does not hide the one that
// other VMs name.
func TestForgedSightingsGiveWay(t *testing.T) {
	g := NewWithT(t)
	var s Hosts
	at := func(last byte) reported.UsedAddress {
		return reported.UsedAddress{Address: netip.AddrFrom4([4]byte{192, 168, 100, last})}
	}
	now, isNew := time.Unix(1000, 0), false
	for range 72 {
		now = now.Add(30 * time.Minute)
		s = s.Forget(now)
		for i := range byte(100) {
			s, _ = s.Note(at(100+i), "evil", now)
		}
	}
	g.Expect(s).To(HaveLen(Max))
	s, isNew = s.Note(at(66), "blue-1", now)
	g.Expect(isNew).To(BeTrue())
	for i := range byte(100) {
		s, _ = s.Note(at(100+i), "evil", now)
		if i == 2 {
			s, isNew = s.Note(at(66), "blue-2", now)
			g.Expect(isNew).To(BeFalse())
		}
	}
	g.Expect(s.List()).To(HaveLen(MaxReported))
	g.Expect(s.List()).To(ContainElement(at(66)))
	g.Expect(s.Forget(now.Add(Kept + 1)).List()).To(BeEmpty())
}
