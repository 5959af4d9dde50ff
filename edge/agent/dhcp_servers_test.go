package agent

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// TestDHCPServersOfOthers: what VMs choose is reported with its MAC, found out without a
// privilege. A VM that makes up servers adds a few, and no more.
func TestDHCPServersOfOthers(t *testing.T) {
	g := NewWithT(t)
	segment, e, rogue := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", "192.168.100.4/24")
	segment.Attach(t, rogue, "eth0", "", "192.168.100.66/24")
	reports := make(chan []network.UsedAddress, 100)
	d := NewDHCPServers("net1", blue, func(all []network.UsedAddress) { reports <- all }, slog.New(slog.DiscardHandler))
	ended := make(chan struct{})
	go func() { defer close(ended); e.Do(t, func() { d.Run(t.Context()) }) }()
	t.Cleanup(func() { <-ended })

	at, far := netip.MustParseAddr("192.168.100.66"), netip.MustParseAddr("10.9.9.9")
	d.Chose(at)
	g.Eventually(reports, "10s").Should(Receive(Equal([]network.UsedAddress{{Address: at}})), "at once")
	g.Eventually(reports, "10s").Should(Receive(Equal([]network.UsedAddress{{Address: at, MAC: rogue.MAC(t, "eth0")}})))
	d.Chose(far)
	g.Eventually(reports, "10s").Should(Receive(ContainElement(network.UsedAddress{Address: far})))
	for i := range 1000 {
		d.Chose(netip.MustParseAddr(fmt.Sprintf("10.9.%d.%d", i/250, i%250)))
	}
	var last []network.UsedAddress
	g.Eventually(func() []network.UsedAddress {
		for len(reports) > 0 {
			last = <-reports
		}
		return last
	}, "10s").Should(HaveLen(network.MaxDHCPServers))
	g.Expect(slices.ContainsFunc(last, func(u network.UsedAddress) bool { return u.Address == at && u.MAC != "" })).To(BeTrue(), "the first ones stay")
}
