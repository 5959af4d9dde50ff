package reply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// BenchmarkRenewal measures one renewal of a known VM, with decoding and encoding, with 200 other
// VMs.
func BenchmarkRenewal(b *testing.B) {
	n := blue()
	var w world
	for i := range 200 {
		w.leases = append(w.leases, network.Lease{Address: at(fmt.Sprint(20 + i)), MAC: fmt.Sprintf("02:00:00:00:09:%02x", i), Expires: now.Add(time.Hour)})
	}
	known := w.known()
	packet := message(dhcpv4.MessageTypeRequest, "02:00:00:00:09:07", parameters(rhcos...), has("27")).ToBytes()
	for b.Loop() {
		m, err := dhcpv4.FromBytes(packet)
		if err != nil {
			b.Fatal(err)
		}
		v := reply.Decide(n, known, m, now)
		if v.Outcome != reply.Granted || v.Next.Address.IsValid() {
			b.Fatal(v.Outcome)
		}
		_ = reply.Encode(v.Answer)
	}
}
