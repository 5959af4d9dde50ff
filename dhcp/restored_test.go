package dhcp_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestAnHourWithoutTheAPIServer: the API server is unavailable for an hour, and returns with the state before the first VM got its address.
// Meanwhile each VM renews its lease. Afterwards, the API server has all leases, and a new VM gets another address.
func TestAnHourWithoutTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	s := newSchedule(t, 1, 8)
	s.deep = true // Nothing happens meanwhile.
	for _, e := range s.edges {
		e.plan.DHCP.LeaseTime = network.DefaultLeaseTime
	}
	s.saved = s.api.backup()
	vms := []*lawClient{{mac: mac1}, {mac: mac2, via: 1}}
	for _, c := range vms {
		s.boots(c)
		g.Expect(c.bound(s.clock)).To(BeTrue())
	}
	had := []network.Lease{s.uses[vms[0].has], s.uses[vms[1].has]}
	for _, e := range s.edges {
		e.store.hears(len(s.api.changes))
		e.store.cut = true
	}
	newcomer := &lawClient{mac: "02:00:00:00:00:03"}
	began, renewed := s.clock, []time.Time{s.clock, s.clock}
	for range 60 {
		s.clock = s.clock.Add(time.Minute)
		for i, c := range vms {
			if half := renewed[i].Add(c.end.Sub(renewed[i]) / 2); s.clock.Before(half) {
				continue
			}
			renewed[i] = s.clock
			s.renews(c)
			g.Expect(c.has).To(Equal(had[i].Address))
			g.Expect(c.bound(s.clock.Add(time.Minute))).To(BeTrue(), "the lease of %s does not end", c.mac)
		}
	}
	g.Expect(renewed).To(HaveEach(BeTemporally(">", began)), "each VM renewed its lease meanwhile")
	s.boots(newcomer)
	g.Expect(newcomer.has.IsValid()).To(BeFalse(), "no address is assigned meanwhile")

	s.api.objects, s.api.changes = s.saved.objects, s.saved.changes
	for _, e := range s.edges {
		e.store.cut, e.store.unwatched = false, true
		e.store.lists()
	}
	s.boots(newcomer)
	g.Expect(newcomer.bound(s.clock)).To(BeTrue())
	for _, e := range s.edges {
		e.store.readsMissing()
		e.server.Tend(t.Context())
	}
	for _, c := range append(vms, newcomer) {
		g.Expect(s.api.objects[c.has].lease.MAC).To(Equal(c.mac), "the lease is written again")
		s.renews(c)
		g.Expect(c.bound(s.clock)).To(BeTrue())
	}
	g.Expect(s.err).NotTo(HaveOccurred())
}
