package dhcp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
)

// TestAnswersAtTheLastMoment: hosts answer just when offers stop waiting for probes. Later offers do not contain their addresses.
func TestAnswersAtTheLastMoment(t *testing.T) {
	r := fuzzed(t)
	discover, err := dhcpv4.NewDiscovery(net.HardwareAddr{2, 0, 0, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r.WhoHas = func(_ context.Context, a netip.Addr) (string, bool, error) {
			<-time.After(askTime)
			return fmt.Sprintf("02:00:00:00:f1:%02x", a.As4()[3]), true, nil
		}
		for i := range byte(100) {
			a := netip.AddrFrom4([4]byte{192, 168, 100, 100 + i})
			r.ask(t.Context(), r.n, discover, reply.Verdict{Outcome: reply.Offered, MAC: "02:00:00:00:00:01", Address: a})
			r.writing.Wait()
			r.mu.Lock()
			mac, _ := r.conflicts.InUse(a, r.now, func() int { return 0 })
			r.mu.Unlock()
			if mac == "" {
				t.Fatalf("%s counts as free", a)
			}
		}
	})
}
