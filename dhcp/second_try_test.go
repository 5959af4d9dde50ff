package dhcp_test

import (
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/test/netns"
)

// TestSecondTryWithANewTransaction: NetworkManager's second try has a new transaction, and says that
// two seconds passed. Both edges reply to it, and to what follows: the selected one may be dead.
func TestSecondTryWithANewTransaction(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	w := NewWithT(t)
	var passed atomic.Int64
	clock := func(s *dhcp.Server) {
		s.Now = func() time.Time { return now.Add(time.Duration(passed.Load())) }
		s.PeerServes = func() bool { return true }
	}
	memory := &leases.Memory{}
	on := segment(t)
	e := edges{site: serveOn(t, on, twice(), memory, clock), two: serveOn(t, on, twice(), memory, clock, func(s *dhcp.Server) { s.Edge = 2 })}
	e.ear = e.station("192.168.100.200/24")

	w.Expect(e.answers(message(discover, mac1))).To(HaveLen(1), "the first try")
	passed.Store(int64(2500 * time.Millisecond))
	second := e.answers(message(discover, mac1, secs(2)))
	w.Expect(second).To(HaveLen(2), "the second try")
	chosen := message(request, mac1, server(us), asks(second[0].YourIPAddr.String()), secs(2))
	w.Expect(e.answers(chosen)).NotTo(BeEmpty())
	for _, x := range []site{e.site, e.two} {
		w.Expect(x.said(request, reply.LeftToPeer)).To(BeZero(), "what the client chose is left to no edge that may be dead")
	}
	w.Expect(e.answers(message(discover, mac2))).To(HaveLen(1), "another client's first try")
}
