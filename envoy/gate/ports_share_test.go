package gate

import (
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
)

// TestPortsOfTheAPIHaveAShare: a VM that has its whole share at other ports can still open connections to the API server, and vice versa.
// The kernel resets its connections only to the ports at which its share is used up.
func TestPortsOfTheAPIHaveAShare(t *testing.T) {
	api, others := netip.MustParseAddrPort(onVLAN+":6443"), netip.MustParseAddrPort(onVLAN+":443")
	for _, c := range []struct{ full, free netip.AddrPort }{{others, api}, {api, others}} {
		t.Run(c.full.String(), func(t *testing.T) {
			g := NewWithT(t)
			vm, now := netip.MustParseAddr("192.168.100.20"), time.Now()
			gate := &Gate{
				Limits: resources.Limits{Connections: 100, PerSource: 40}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), SetAsked: func(uint32) {},
				MACOf: func(netip.Addr) string { return "02:00:00:00:00:01" },
				Each: func(f func(local, remote netip.AddrPort)) error {
					for i := range 20 {
						f(c.full, netip.AddrPortFrom(vm, uint16(1+i)))
					}
					return nil
				},
				Denied: newDenied(),
			}
			gate.Serve(blue())
			gate.shares.limits = gate.Limits
			all, _ := gate.look(now)
			for _, s := range all {
				g.Expect(len(s.MACs) > 0).To(Equal(slices.Contains(s.Listeners, c.full)), "%v", s)
			}
			g.Expect(all).To(HaveLen(2))
			g.Expect(gate.admit(arrival{c.full, netip.AddrPortFrom(vm, 1000)}, now)).To(Equal(overShare))
			g.Expect(gate.admit(arrival{c.free, netip.AddrPortFrom(vm, 1000)}, now)).To(Equal(admitted))
		})
	}
}
