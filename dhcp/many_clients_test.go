// This file tests the server with many clients at one time.

package dhcp_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dhcpmessages"
)

// silent is a store that does not answer.
type silent struct{ *leases.Memory }

func (silent) Fresh() error { return errCut }

// BenchmarkRenewalUnwritten is one renewal while 4,000 others are not written.
func BenchmarkRenewalUnwritten(b *testing.B) {
	n, given := dhcpmessages.Large(time.Minute)
	memory := &leases.Memory{}
	for _, l := range given {
		memory.Put(l)
	}
	metrics := dhcp.NewMetrics(prometheus.NewRegistry())
	s := (&dhcp.Server{
		Network: func() network.Network { return n }, Store: silent{memory}, VMs: reply.NoVMs{}, Metrics: metrics,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
	}).Start()
	all := memory.All()[:4000]
	for _, l := range all {
		if v := s.Process(b.Context(), message(request, l.MAC, has(l.Address.String())), n.DHCP.ServerID); !v.Next.Address.IsValid() || v.Answer == nil {
			b.Fatal("not a renewal that is written later: ", v.Outcome)
		}
	}
	m := message(request, all[7].MAC, has(all[7].Address.String()))
	for b.Loop() {
		if v := s.Process(b.Context(), m, n.DHCP.ServerID); v.Outcome != reply.Granted || v.Answer == nil {
			b.Fatal(v.Outcome)
		}
	}
}

// TestManyBoots: many clients boot in the same seconds, 16 of them at a time. No client is offered an address that another one was offered
// a moment ago.
func TestManyBoots(t *testing.T) {
	n := changed(func(d *network.DHCP) {
		d.Range, d.Named, d.Exclude, d.ReservedForVMs = network.Range{First: netip.MustParseAddr("10.77.0.10"), Last: netip.MustParseAddr("10.77.100.0")}, nil, nil, 0
	})
	n.CIDR = netip.MustParsePrefix("10.77.0.0/16")
	memory := &leases.Memory{}
	s := processing(t, n, memory, reply.NoVMs{})
	const clients, together = 9000, 16
	mac := func(i int) string { return fmt.Sprintf("02:00:00:02:%02x:%02x", i>>8, i&0xff) }
	offers := make([]string, clients)
	for i := range clients + together {
		if i < clients {
			v := s.Process(t.Context(), message(discover, mac(i)), n.DHCP.ServerID)
			if v.Outcome != reply.Offered {
				t.Fatalf("client %d: %s", i, v.Outcome)
			}
			offers[i] = v.Address.String()
		}
		if j := i - together; j >= 0 {
			if v := s.Process(t.Context(), message(request, mac(j), server(us), asks(offers[j])), n.DHCP.ServerID); v.Outcome != reply.Granted {
				t.Fatalf("client %d: %s of the address that it was offered", j, v.Outcome)
			}
		}
	}
}
