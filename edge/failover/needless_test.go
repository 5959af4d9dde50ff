// This file tells apart what a busy machine explains, and what nothing does. An edge that stands still for longer than it
// may be silent is announced against, and rightly so. Only the edges' own logs say that it happened. Then the VMs may be at
// any edge, and only the end counts.

package failover_test

import (
	"strings"
	"time"

	. "github.com/onsi/gomega"
)

// unheard counts the announcements in the log of an edge against a peer that it did not hear.
func unheard(log string) int {
	return strings.Count(log, announcements+" nextHop="+nextHop+" peer=unreachable cause=\"peer unreachable\"") +
		strings.Count(log, announcements+" nextHop="+nextHop+" peer=unreachable cause=\"peer silent\"")
}

// keepsW expects that no long connection of w, which sends to edge 2, was reset, unless edge 1 announced.
func (s *site) keepsW(since time.Time) {
	s.Helper()
	s.keeps(s.w, since)
}

// keepsConnections expects that no long connection was reset while both VMs sent to edge 2, unless edge 1 announced.
func (s *site) keepsConnections(since time.Time) {
	s.Helper()
	s.keeps(s.w, since)
	s.keeps(s.v, since)
}

func (s *site) keeps(m *vm, since time.Time) {
	s.Helper()
	if cuts := m.cutSince(since); len(cuts) > 0 {
		// It logs an announcement after it.
		s.g.Eventually(func() int { return s.announcementsBy(1) }, "1m").Should(BeNumerically(">", 0), "%s sent to the edge that lives: %v", m.address, cuts)
		s.Logf("edge 1 announced, so %s may have sent to it", m.address)
	}
}

// needlessBy counts the announcements of an edge against a peer that it heard.
func (s *site) needlessBy(i int) int {
	e, log := s.edges[i], s.edges[i].log.String()
	return strings.Count(log, announcements) - e.before - (unheard(log) - e.unheardBefore)
}

// drains waits until edge 1, which began to drain after since, has closed. It reports whether edge 2 had announced by then,
// in the sight of edge 1. If not, edge 1 must not have closed before its time.
func (s *site) drains(since time.Time) bool {
	s.Helper()
	s.g.Eventually(s.edges[1].gone, "1m").Should(BeClosed())
	waited, log := time.Since(since), s.edges[1].log.String()
	const changed = `msg="peer state changed" peer=`
	if last := log[strings.LastIndex(log, changed):]; !strings.HasPrefix(last, changed+"serving ") {
		s.Log("edge 2 stood still, so edge 1 did not wait for it")
		return false
	}
	if at := s.announcedAt(2); at.IsZero() || at.After(s.edges[1].log.At(closes)) {
		s.g.Expect(waited).To(BeNumerically(">=", 4*time.Second), "it waits until its peer announces")
		s.Log("edge 2 stood still, and announced after edge 1 had closed")
		return false
	}
	s.g.Expect(waited).To(BeNumerically(">=", 2*time.Second), "a VM's kernel may ignore the first announcement")
	return true
}

// announcedAt returns when edge i logged its first announcement of the test. Zero: there is none.
func (s *site) announcedAt(i int) (at time.Time) {
	n := 0
	for line := range strings.Lines(s.edges[i].log.String()) {
		if !strings.Contains(line, announcements) {
			continue
		}
		if n++; n > s.edges[i].before {
			stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			s.g.Expect(err).NotTo(HaveOccurred())
			return at
		}
	}
	return time.Time{}
}

// quiet waits until the kernel of an edge stops asking, two seconds after an announcement.
func (s *site) quiet(i int) {
	s.g.Eventually(func() string {
		return s.edges[i].ns.Run(s.T, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16")
	}, "1m", "50ms").Should(BeEmpty())
}
