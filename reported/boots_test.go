package reported_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// bootsAt is when the VMs of tests begin to boot.
var bootsAt = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// booting is a network with two edges that see all steps.
func booting() network.Network {
	n := vlan100()
	n.Services = network.AllServices()
	n.Edges = []network.Edge{{Number: 1}, {Number: 2}}
	n.Listeners = []network.Listener{{Forwards: []network.Forward{{ServerNames: []string{"ignition.blue.example.com"}, Backend: "ignition-server-proxy:443"}}}}
	n.Backends = nil
	for _, service := range []string{network.IgnitionService, network.APIService, network.KonnectivityService} {
		n.Backends = append(n.Backends, network.Backend{Name: service + ":443", Service: service, Port: 443})
	}
	return n
}

// boot is one that has come that far, a step each second.
func boot(vm string, late bool, seen ...network.BootStep) reported.Boot {
	b := reported.Boot{VM: vm, Since: bootsAt, Late: late, Seen: map[network.BootStep]int{}}
	for i, s := range seen {
		b.Seen[s] = i + 1
	}
	return b
}

// TestBootSteps: an edge waits for no step that it cannot see.
func TestBootSteps(t *testing.T) {
	all := network.AllBootSteps()
	for name, c := range map[string]struct {
		change func(*network.Network)
		want   []network.BootStep
	}{
		"everything":             {func(*network.Network) {}, all},
		"an additional network":  {func(n *network.Network) { n.Primary = false }, nil},
		"DHCP of others":         {func(n *network.Network) { n.Services = []network.Service{network.ServiceDNS, network.ServiceProxy} }, nil},
		"DHCP alone":             {func(n *network.Network) { n.Services = []network.Service{network.ServiceDHCP} }, all[:2]},
		"Ignition at a bare IP":  {func(n *network.Network) { n.Listeners = nil }, []network.BootStep{all[0], all[1], all[3], all[4], all[5]}},
		"konnectivity elsewhere": {func(n *network.Network) { n.Backends = n.Backends[:2] }, all[:5]},
	} {
		t.Run(name, func(t *testing.T) {
			n := booting()
			c.change(&n)
			NewWithT(t).Expect(n.BootSteps()).To(Equal(c.want))
		})
	}
}

// TestBootsOfTwoEdges: a step counts that one edge saw. An edge that VMs are not connected to, or that runs alone without any
// connection, judges no VM: it did not see what its peer saw.
func TestBootsOfTwoEdges(t *testing.T) {
	all := network.AllBootSteps()
	for name, c := range map[string]struct {
		edges   []reported.EdgeReport
		missing network.BootStep
		late    bool
	}{
		"each saw a part": {[]reported.EdgeReport{
			{Edge: 1, Connected: reported.ConnectedYes, Boots: []reported.Boot{boot("blue-1", true, all[2], all[3])}},
			{Edge: 2, Connected: reported.ConnectedNo, Boots: []reported.Boot{boot("blue-1", true, all[0], all[1])}}}, network.BootAPI, true},
		"it is a node at the other edge": {[]reported.EdgeReport{
			{Edge: 1, Connected: reported.ConnectedYes, Boots: []reported.Boot{boot("blue-1", false, all...)}},
			{Edge: 2, Connected: reported.ConnectedYes, Boots: []reported.Boot{boot("blue-1", true, all[0], all[1])}}}, "", false},
		"it was a node at the other edge, which no longer lists it": {[]reported.EdgeReport{
			{Edge: 1, Connected: reported.ConnectedYes}, {Edge: 2, Connected: reported.ConnectedNo, Boots: []reported.Boot{boot("blue-1", true, all[0], all[1])}}}, network.BootName, false},
		"the other edge has just gone": {[]reported.EdgeReport{
			{Edge: 2, Connected: reported.ConnectedNo, Boots: []reported.Boot{boot("blue-1", true, all[0], all[1])}}}, network.BootName, false},
		"the first VM of a cluster": {[]reported.EdgeReport{
			{Edge: 1, Connected: reported.ConnectedNo, Boots: []reported.Boot{boot("blue-1", true)}}, {Edge: 2, Connected: reported.ConnectedNo}}, network.BootDiscover, true},
		"the other edge saw a later step": {[]reported.EdgeReport{
			{Edge: 1, Connected: reported.ConnectedNo, Boots: []reported.Boot{boot("blue-1", false, all[:4]...)}},
			{Edge: 2, Connected: reported.ConnectedNo, Boots: []reported.Boot{boot("blue-1", true, all[0], all[1])}}}, network.BootAPI, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			boots := reported.BootsOf(booting(), c.edges)
			g.Expect(boots).To(HaveLen(1))
			_, missing := boots[0].Steps(all)
			g.Expect(missing).To(Equal(c.missing))
			g.Expect(boots[0].Late).To(Equal(c.late))
			g.Expect(reported.BootsStalled(booting(), c.edges)).To(HaveLen(map[bool]int{true: 1}[c.late]))
		})
	}
	g := NewWithT(t)
	earlier := boot("blue-1", false, all[0])
	earlier.Since = bootsAt.Add(-time.Minute)
	both := reported.BootsOf(booting(), []reported.EdgeReport{{Edge: 1, Boots: []reported.Boot{boot("blue-1", false, all[:2]...)}}, {Edge: 2, Boots: []reported.Boot{earlier}}})
	g.Expect(both[0].Since).To(Equal(earlier.Since))
	g.Expect(both[0].At(all[0])).To(Equal(earlier.Since.Add(time.Second)), "the first time")
	g.Expect(both[0].At(all[1])).To(Equal(bootsAt.Add(2 * time.Second)))
}

// TestBootsStalled: for each missing step, a problem names the VMs, since when, and what to check. It names at most five VMs.
func TestBootsStalled(t *testing.T) {
	steps := network.AllBootSteps()
	for i, words := range []string{
		"No DHCPDISCOVER of blue-1 has reached an edge of network clusters/vlan100 since 2026-03-04T05:06:07Z",
		"blue-1 sent a DHCPDISCOVER on network clusters/vlan100 at 2026-03-04T05:06:08Z, and got no lease",
		"blue-1 got a lease on network clusters/vlan100 at 2026-03-04T05:06:09Z. No edge received a DNS query from them for the name of Ignition",
		"blue-1 on network clusters/vlan100 got no connection to Ignition since 2026-03-04T05:06:10Z",
		"blue-1 on network clusters/vlan100 reached Ignition at 2026-03-04T05:06:11Z, but not the API server",
		"blue-1 on network clusters/vlan100 reached the API server at 2026-03-04T05:06:12Z, but no konnectivity agent",
	} {
		t.Run(string(steps[i]), func(t *testing.T) {
			g := NewWithT(t)
			ps := reported.BootsStalled(booting(), []reported.EdgeReport{{Edge: 1, Connected: reported.ConnectedYes, Boots: []reported.Boot{boot("blue-1", true, steps[:i]...)}}})
			g.Expect(ps).To(HaveExactElements(And(HaveField("Reason", problem.NodesNotJoining), HaveField("Severity", problem.SeverityWarning))))
			g.Expect(message(ps[0])).To(And(HavePrefix(words), Not(ContainSubstring("{"))))
		})
	}
	g := NewWithT(t)
	var all []reported.Boot
	for i := range reported.MaxBoots {
		all = append(all, boot(fmt.Sprintf("blue-%02d", i), true, steps[:i%2*4]...))
	}
	ps := reported.BootsStalled(booting(), []reported.EdgeReport{{Edge: 1, Connected: reported.ConnectedYes, Boots: all}})
	g.Expect(ps).To(HaveExactElements(HaveField("Cause", problem.BootWithoutDiscover), HaveField("Cause", problem.BootWithoutAPI)))
	g.Expect(ps[1].Args["newVMs"]).To(HaveExactElements("blue-01", "blue-03", "blue-05", "blue-07", "blue-09"))
}

// TestLongBootsHideNothingElse: with the longest names, a report keeps everything else, and as many boots as fit.
func TestLongBootsHideNothingElse(t *testing.T) {
	g := NewWithT(t)
	r := reported.EdgeReport{Edge: 1, BootsOmitted: 484}
	for i := range 100 {
		r.Boots = append(r.Boots, boot(fmt.Sprintf("%03d-%s", i, strings.Repeat("x", 249)), true, network.AllBootSteps()...))
		r.AddressesInUse = append(r.AddressesInUse, inUse(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}).String(), "02:00:00:00:00:01"))
	}
	r.PeerHosts, r.VIPHosts, r.DHCP.InUse = r.AddressesInUse, r.AddressesInUse, r.AddressesInUse
	g.Expect(len(r.JSON())).To(BeNumerically("<=", reported.MaxBytes))
	read, err := reported.Read(r.JSON())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.AddressesInUse).To(HaveLen(16))
	g.Expect(read.DHCP.InUse).To(HaveLen(16))
	g.Expect(len(read.Boots)).To(And(BeNumerically(">", 5), BeNumerically("<", reported.MaxBoots)))
	g.Expect(read.Boots[0].VM).To(HavePrefix("000-"))
	g.Expect(read.BootsOmitted).To(Equal(484))
}
