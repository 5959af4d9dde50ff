package device_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/test/netns"
)

// TestMACsOfNeighbors: a host that the kernel knows is known a moment later, with each of its addresses.
func TestMACsOfNeighbors(t *testing.T) {
	g := NewWithT(t)
	vlan := netns.NewSegment(t)
	e, vm := netns.New(t), netns.New(t)
	vlan.Attach(t, e, "net1", "", "192.0.2.1/24")
	vlan.Attach(t, vm, "eth0", "", "192.0.2.9/24", "192.0.2.10/24")
	var macs *device.NeighborMACs
	var err error
	e.Do(t, func() { macs, err = device.NewNeighborMACs("net1", nil) })
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { macs.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	of := func(a string) func() string {
		return func() string {
			mac, present := macs.MACOf(netip.MustParseAddr(a))
			return fmt.Sprint(mac, " ", present)
		}
	}
	g.Expect(of("192.0.2.9")()).To(Equal(" false"))
	for _, a := range []string{"192.0.2.9", "192.0.2.10"} {
		e.Do(t, func() {
			var c net.Conn
			if c, err = net.Dial("udp", a+":9"); err == nil {
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			}
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Eventually(of(a), "1m").Should(Equal(vm.MAC(t, "eth0") + " true"))
	}
	e.Run(t, "ip", "neighbour", "flush", "dev", "net1")
	g.Eventually(func() string { return of("192.0.2.77")() + of("192.0.2.9")() }, "1m").Should(Equal(" false"+vm.MAC(t, "eth0")+" false"), "a flood may evict it")
	g.Expect(of("192.0.2.77")()).To(Equal(" false"))
}
