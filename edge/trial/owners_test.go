package trial

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/netns"
)

// TestTwoHostsWithAVIP: the kernel keeps the first answer to an ARP request, and a host that answers later than the edges is still
// found. So is one that answers first.
func TestTwoHostsWithAVIP(t *testing.T) {
	const hop, service, published = "192.168.100.2", "192.168.100.3", "192.168.100.60"
	g := NewWithT(t)
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	host, edges := netns.New(t), [2]*netns.Namespace{netns.New(t), netns.New(t)}
	o := Options{Device: "net1", Network: network.Network{
		CIDR: netip.MustParsePrefix("192.168.100.0/24"), NextHopVIP: netip.MustParseAddr(hop), ServiceVIP: netip.MustParseAddr(service),
		PublishedAddresses: []netip.Addr{netip.MustParseAddr(published), netip.MustParseAddr("10.9.9.9")},
	}}
	for i, e := range edges {
		own := []string{"4", "5"}[i]
		vlan.Attach(t, e, "net1", "", hop+"/32", "192.168.100."+own+"/24", service+"/32", published+"/32")
		pods.Attach(t, e, "eth0", "", "10.128.0."+own+"/24")
		e.Sysctl(t, "net/ipv4/conf/all/rp_filter", "0")
		e.Sysctl(t, "net/ipv4/conf/net1/rp_filter", "1")
		o.EdgeMACs = append(o.EdgeMACs, e.MAC(t, "net1"))
	}
	vlan.Attach(t, host, "eth0", "", "192.168.100.66/24")
	host.Route(t, "0.0.0.0/0", hop)
	looks := 0
	// look is what a new pod finds: a kernel that has asked before may not ask again in time.
	look := func() (found []reported.UsedAddress, results []network.TrialResult) {
		looks++
		pod := netns.New(t)
		vlan.Attach(t, pod, "net1", "", fmt.Sprintf("192.168.100.%d/24", 20+looks))
		pods.Attach(t, pod, "eth0", "", fmt.Sprintf("10.128.0.%d/24", 20+looks))
		var err error
		pod.Do(t, func() {
			if found, err = otherHosts(t.Context(), o); err != nil {
				return
			}
			var hosts *device.Meter
			if hosts, err = device.OpenMeter(o.Device); err != nil {
				return
			}
			defer hosts.Close()
			results = owners(o, found, hosts.MACOf)
		})
		g.Expect(err).NotTo(HaveOccurred())
		return found, results
	}
	others, results := look()
	g.Expect(others).To(BeEmpty(), "edges do not answer this question")
	g.Expect(results).To(BeEmpty())

	host.Address(t, "eth0", hop+"/32")
	host.Address(t, "eth0", published+"/32")
	mac := host.MAC(t, "eth0")
	others, results = look()
	g.Expect(others).To(Equal([]reported.UsedAddress{{Address: netip.MustParseAddr(hop), MAC: mac}, {Address: netip.MustParseAddr(published), MAC: mac}}))
	g.Expect(results).To(HaveLen(2))
	g.Expect(results[0].Name).To(Equal("an edge has " + hop))
	g.Expect(results[0].Problems).To(Equal(found(problem.VIPShared, problem.Args{"macs": {o.EdgeMACs[0] + " or " + o.EdgeMACs[1]}, "mac": {mac}})))

	for _, e := range edges {
		e.Sysctl(t, "net/ipv4/conf/net1/rp_filter", "0")
	}
	o.Network.PublishedAddresses = nil
	others, results = look()
	g.Expect(others).NotTo(ContainElement(HaveField("MAC", BeElementOf(o.EdgeMACs))), "edges that answer it are known by their MACs")
	g.Expect(results).To(ContainElement(network.TrialResult{Name: "an edge has " + service}))
}

// TestProxyARPIsNoOwner: a router that answers for every address has none of them.
func TestProxyARPIsNoOwner(t *testing.T) {
	n := network.Network{CIDR: netip.MustParsePrefix("192.168.100.0/24"), NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: netip.MustParseAddr("192.168.100.3")}
	var answers []reported.UsedAddress
	for _, a := range append(n.SharedAddresses(), reported.Controls(n)...) {
		answers = append(answers, reported.UsedAddress{Address: a, MAC: "02:00:00:00:00:aa"})
	}
	other := reported.UsedAddress{Address: n.ServiceVIP, MAC: "02:00:00:00:00:bb"}
	NewWithT(t).Expect(reported.SharedByOthers(n, append(answers, other), nil)).To(Equal([]reported.UsedAddress{other}))
}
