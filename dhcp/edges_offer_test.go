package dhcp_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// TestEitherEdgeGrantsAnOffer: an edge grants an address that the other edge has offered, if no other client got it meanwhile. It does so
// even if it has offered the address to another client.
func TestEitherEdgeGrantsAnOffer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		s := newSchedule(t, 2*seed+1, 20)
		s.r = rand.New(rand.NewPCG(seed, 4))
		s.edges[0].skew, s.edges[1].skew = 0, 0
		s.n.DHCP.Reservations = []network.Reservation{{MAC: mac1, Address: at("7")}}
		granted := 0
		for range 300 {
			s.clock = s.clock.Add(time.Duration(s.r.IntN(100)) * time.Second)
			i := s.r.IntN(2)
			s.edges[0].store.lists()
			s.edges[1].store.lists()
			mac := fmt.Sprintf("02:00:00:00:00:%02x", s.r.IntN(30))
			m := message(discover, mac)
			if s.r.IntN(3) == 0 {
				m = message(discover, mac, asks(fmt.Sprint(5+s.r.IntN(30))))
			}
			s.deep = true // Nothing happens meanwhile.
			offered := s.edges[i].server.Process(t.Context(), m, s.n.DHCP.ServerID)
			if offered.Answer == nil {
				continue
			}
			two := s.edges[1-i].server
			two.Offers(offered.Address, "02:00:00:00:00:99")
			m = message(request, mac, server(us), asks(offered.Address.String()), dhcpv4.WithTransactionID(m.TransactionID))
			if v := two.Process(t.Context(), m, s.n.DHCP.ServerID); v.Outcome != reply.Granted || v.Address != offered.Address {
				t.Fatalf("seed %d: %s was offered %s and is %s %s", seed, mac, offered.Address, v.Outcome, v.Why)
			}
			granted++
		}
		if granted < 20 {
			t.Fatalf("seed %d: %d of 300 got anything", seed, granted)
		}
	}
}
