// This file tells apart announcements that a busy machine explains, and those that nothing does.

package failover_test

import (
	"time"

	. "github.com/onsi/gomega"
)

// unheard counts the announcements of an edge against a peer that it did not hear. On a busy machine an edge stands still for
// longer than it may be silent, and then its peer is right to announce.
func unheard(m *member) int {
	return m.log.Count(announcements+" nextHop="+nextHop+" peer=unreachable cause=\"peer unreachable\"") +
		m.log.Count(announcements+" nextHop="+nextHop+" peer=unreachable cause=\"peer silent\"")
}

// keepsW expects that no long connection of w, which sends to edge 2, was reset, unless edge 1 announced.
func (s *site) keepsW(since time.Time) {
	s.Helper()
	if cuts := s.w.cutSince(since); s.announcementsBy(1) == 0 {
		s.g.Expect(cuts).To(BeEmpty(), "it sent to the edge that lives")
	}
}

// keepsConnections expects that no long connection was reset while both VMs sent to edge 2, unless edge 1 announced.
func (s *site) keepsConnections(since time.Time) {
	s.Helper()
	s.keepsW(since)
	if cuts := s.v.cutSince(since); s.announcementsBy(1) == 0 {
		s.g.Expect(cuts).To(BeEmpty())
	}
}

// needlessBy counts the announcements of an edge against a peer that it heard.
func (s *site) needlessBy(i int) int {
	return s.announcementsBy(i) - (unheard(s.edges[i]) - s.edges[i].unheardBefore)
}
