package dns

import (
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/bpf"

	"github.com/cldmnky/oooi/dns/shares"
	edgesocket "github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dnsnames"
	"github.com/cldmnky/oooi/test/netns"
)

// chosen runs the program that chooses a socket for a packet. The virtual machine of the library has neither the link layer
// nor the length, so these are constants here.
func chosen(t *testing.T, mac uint32, payload []byte) int {
	t.Helper()
	program := choose(byMAC)
	program[0] = bpf.LoadConstant{Dst: bpf.RegA, Val: mac}
	for i, x := range program {
		if e, ok := x.(bpf.LoadExtension); ok && e.Num == bpf.ExtLen {
			program[i] = bpf.LoadConstant{Dst: bpf.RegA, Val: uint32(len(payload))}
		}
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	n, err := vm.Run(payload)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSocketOfAPacket: the MAC decides the group of sockets, also of a packet that is too short to be a question. So no VM
// reaches the sockets of another group.
func TestSocketOfAPacket(t *testing.T) {
	g := NewWithT(t)
	used := map[int]bool{}
	for mac := range uint32(200) {
		group := chosen(t, mac*7919, []byte{0, 0, 1}) / socketsPerGroup
		for _, payload := range [][]byte{nil, {1}, {0, 1}, {0, 2, 3, 4}, make([]byte, 600)} {
			n := chosen(t, mac*7919, payload)
			g.Expect(n/socketsPerGroup).To(Equal(group), "MAC %d, %d octets", mac, len(payload))
			g.Expect(n).To(BeNumerically("<", receivers))
			used[n] = true
		}
	}
	g.Expect(used).To(HaveLen(3*groups), "the first three of each group")
}

// knownMACs are those that never change, and those of addresses that the kernel has.
type knownMACs map[netip.Addr]string

func (m knownMACs) MACOf(a netip.Addr) (string, bool) {
	mac := m[a]
	return mac, mac != "" && a.As4()[3] < 100
}

// TestWhomQuestionsCountFor: hosts without a MAC count as one host in each group of sockets. A host that the kernel forgot keeps its share.
// An answer to either of them may wait for the host, so it is sent through another socket.
func TestWhomQuestionsCountFor(t *testing.T) {
	g := NewWithT(t)
	here, forgotten := netip.MustParseAddr("192.168.100.20"), netip.MustParseAddr("192.168.100.120")
	h := NewHandler(NewMetrics(prometheus.NewRegistry()), Options{MACs: knownMACs{here: "a", forgotten: "b"}, VMs: macs{"b"}})
	h.Serve(dnsnames.Blue(network.UpstreamNone))
	for _, c := range []struct {
		address string
		group   uint8
		want    shares.Client
		present bool
	}{
		{"192.168.100.20", 3, shares.Client{MAC: "a"}, true},
		{"192.168.100.120", 3, shares.Client{MAC: "b", Known: true}, false},
		{"192.168.100.21", 3, shares.Client{Group: 3}, false},
		{"192.168.100.22", 3, shares.Client{Group: 3}, false},
		{"192.168.100.22", 4, shares.Client{Group: 4}, false},
		{"10.9.0.1", 4, shares.Client{MAC: beyond, Group: 4}, true},
	} {
		got, present := h.senderAt(netip.MustParseAddr(c.address), c.group)
		g.Expect(h.ranked(got)).To(Equal(c.want), c.address)
		g.Expect(present).To(Equal(c.present), c.address)
	}
	g.Expect(h.clientAt(netip.MustParseAddr("10.9.0.1"))).To(Equal(shares.Client{Address: netip.MustParseAddr("10.9.0.1")}))
	g.Expect(h.clientAt(netip.MustParseAddr("192.168.100.21")).Group).To(BeNumerically("<", groups))
}

// macs are those of VMs with leases.
type macs []string

func (m macs) VMAt(netip.Addr) string              { return "" }
func (m macs) VMNamed(string) ([]netip.Addr, bool) { return nil, false }
func (m macs) HasMAC(mac string) bool              { return mac == m[0] }

// TestKernelChoosesTheGroup: packets of one host arrive in one group of sockets, however short they are.
func TestKernelChoosesTheGroup(t *testing.T) {
	g := NewWithT(t)
	segment, e := netns.NewSegment(t), netns.New(t)
	segment.Attach(t, e, "net1", "", "192.0.2.1/24")
	at := netip.MustParseAddrPort("192.0.2.1:53")
	var shared edgesocket.Shared
	var err error
	e.Do(t, func() { shared, err = edgesocket.ListenShared(t.Context(), "net1", at, Sockets) })
	g.Expect(err).NotTo(HaveOccurred())
	defer shared.Close()
	_, err = spread(shared.Conns, byMAC)
	g.Expect(err).NotTo(HaveOccurred())
	// The upper bits of the product choose the group: these are in four of them.
	for i, mac := range []string{"02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03", "02:00:00:00:00:04"} {
		vm := netns.New(t)
		address := netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + i)}).String()
		segment.Attach(t, vm, "eth0", mac, address+"/24")
		sent := [][]byte{{}, {1}, {0, 0}, {0, 2, 0}}
		vm.Do(t, func() {
			c, err := net.Dial("udp", at.String())
			g.Expect(err).NotTo(HaveOccurred())
			defer c.Close()
			for _, payload := range sent {
				_, err = c.Write(payload)
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
		received := map[int]int{}
		g.Eventually(func() int {
			for n, c := range shared.Conns {
				_ = c.SetReadDeadline(time.Now().Add(time.Millisecond)) // It reads again.
				for b := make([]byte, 10); ; received[n/socketsPerGroup]++ {
					if _, err := c.Read(b); err != nil {
						break
					}
				}
			}
			total := 0
			for _, count := range received {
				total += count
			}
			return total
		}).Should(Equal(len(sent)))
		g.Expect(received).To(HaveLen(1), "of %s", mac)
		g.Expect(received).NotTo(HaveKey(0), "%s was chosen so that its group is not the first one", mac)
	}
}
