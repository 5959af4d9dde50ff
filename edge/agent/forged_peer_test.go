package agent

import (
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/sightings"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/hostile"
	"github.com/cldmnky/oooi/test/netns"
)

// TestForgedPeer: a VM that answers ARP requests for the peer's address is seen in the kernel's
// neighbor table, and reported once it lasts.
func TestForgedPeer(t *testing.T) {
	g := NewWithT(t)
	segment, e, peer, vm := netns.NewSegment(t), netns.New(t), netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", "192.168.100.4/24")
	segment.Attach(t, peer, "net1", "", "192.168.100.5/24")
	segment.Attach(t, vm, "eth0", "", "192.168.100.9/24")
	own, other := netip.MustParseAddr("192.168.100.4"), netip.MustParseAddr("192.168.100.5")
	used := func() string {
		var table []device.Neighbor
		var err error
		e.Do(t, func() { table, err = device.Neighbors("net1") })
		g.Expect(err).NotTo(HaveOccurred())
		return device.MACIn(table, other)
	}
	var port *hostile.Port
	vm.Do(t, func() {
		var err error
		port, err = hostile.Open("eth0")
		g.Expect(err).NotTo(HaveOccurred())
	})
	defer port.Close()

	var p peerAddress
	named, now := peer.MAC(t, "net1"), time.Unix(1000, 0)
	e.SetNeighbour(t, "net1", other.String(), named, false)
	p = p.next(other, named, used(), now)
	p = p.next(other, named, used(), now.Add(time.Minute))
	g.Expect(p.found.List()).To(BeEmpty(), "the peer itself answers")

	to, err := net.ParseMAC(e.MAC(t, "net1"))
	g.Expect(err).NotTo(HaveOccurred())
	// The kernel ignores a change within a second after the last one.
	g.Eventually(func() string {
		g.Expect(port.Send(port.MAC(), to, hostile.ARP, hostile.ARPReply(port.MAC(), other, to, own))).To(Succeed())
		return used()
	}, "1m", "100ms").Should(Equal(port.MAC().String()))
	p = p.next(other, named, used(), now.Add(2*time.Minute))
	g.Expect(p.found.List()).To(BeEmpty(), "a new pod of the peer may name this MAC soon")
	p = p.next(other, named, used(), now.Add(2*time.Minute+lasting))
	g.Expect(p.found.List()).To(Equal([]reported.UsedAddress{{Address: other, MAC: port.MAC().String()}}))
	p = p.next(other, named, named, now.Add(2*time.Minute+sightings.Kept))
	g.Expect(p.found.List()).To(HaveLen(1), "it may come again")
	p = p.next(other, named, named, now.Add(3*time.Minute+sightings.Kept))
	g.Expect(p.found.List()).To(BeEmpty())
}

// TestForgedPeersAreFew: one VM can use any number of MACs.
func TestForgedPeersAreFew(t *testing.T) {
	g := NewWithT(t)
	var p peerAddress
	other, now := netip.MustParseAddr("192.168.100.5"), time.Unix(1000, 0)
	for i := range byte(200) {
		mac := net.HardwareAddr{2, 0, 0, 0, 1, i}.String()
		p = p.next(other, "02:00:00:00:00:05", mac, now)
		now = now.Add(lasting)
		p = p.next(other, "02:00:00:00:00:05", mac, now)
	}
	g.Expect(p.found.List()).To(HaveLen(sightings.MaxReported))
	own := p.found.List()[0].MAC
	p = p.next(other, own, own, now)
	g.Expect(p.found.List()).NotTo(ContainElement(reported.UsedAddress{Address: other, MAC: own}), "a MAC that the peer names is its own after all")
}

// TestNewPodOfThePeer: its MAC is in the neighbor table before it names it, and then is its own.
func TestNewPodOfThePeer(t *testing.T) {
	g := NewWithT(t)
	var p peerAddress
	other, now := netip.MustParseAddr("192.168.100.5"), time.Unix(1000, 0)
	p = p.next(other, "02:00:00:00:00:05", "02:00:00:00:00:05", now)
	p = p.next(other, "02:00:00:00:00:05", "02:00:00:00:00:06", now.Add(time.Second))
	p = p.next(other, "02:00:00:00:00:06", "02:00:00:00:00:06", now.Add(2*time.Second))
	p = p.next(other, "02:00:00:00:00:06", "02:00:00:00:00:05", now.Add(3*time.Second))
	p = p.next(other, "02:00:00:00:00:06", "02:00:00:00:00:05", now.Add(time.Minute))
	g.Expect(p.found.List()).To(BeEmpty(), "its former pod is no forger")
	g.Expect(peerAddress{}.next(other, "", "02:00:00:00:00:05", now).next(other, "", "02:00:00:00:00:05", now.Add(time.Minute)).found.List()).To(BeEmpty(), "an earlier version names none")
}

// TestPeerThatIsNotAccused: while the peer names no MAC, as on a cluster network that carries
// nothing, its new pod has an unknown one.
func TestPeerThatIsNotAccused(t *testing.T) {
	var p peerAddress
	other, now := netip.MustParseAddr("192.168.100.5"), time.Unix(1000, 0)
	p = p.next(other, "02:00:00:00:00:05", "02:00:00:00:00:05", now)
	for range 10 {
		now = now.Add(lasting)
		p = p.next(other, "", "02:00:00:00:00:06", now)
	}
	NewWithT(t).Expect(p.found.List()).To(BeEmpty())
}

// TestTwinIsReported: an edge that serves reports an edge of another management cluster, however its kernel sees it.
func TestTwinIsReported(t *testing.T) {
	g := NewWithT(t)
	var p peerAddress
	other, now := netip.MustParseAddr("192.168.100.5"), time.Unix(1000, 0)
	p = p.next(other, "02:00:00:00:00:05", "02:00:00:00:00:05", now).twin(other, "02:00:00:00:00:b2", now)
	g.Expect(p.found.List()).To(Equal([]reported.UsedAddress{{Address: other, MAC: "02:00:00:00:00:b2"}}))
	p = p.next(other, "02:00:00:00:00:05", "02:00:00:00:00:05", now.Add(sightings.Kept+time.Minute)).twin(other, "", now)
	g.Expect(p.found.List()).To(BeEmpty())
}
