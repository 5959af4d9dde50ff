package agent

import (
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/agent/sightings"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
)

const blueHop = "192.168.100.2"

// A sharedVIP is two edges whose VIPs are on an interface of their own, a VM, and another host.
type sharedVIP struct {
	edge, peer, vm, host *netns.Namespace
	agent                *Failover
}

func newSharedVIP(t *testing.T) sharedVIP {
	t.Helper()
	w := sharedVIP{netns.New(t), netns.New(t), netns.New(t), netns.New(t), nil}
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	for n, own := range map[*netns.Namespace]string{w.edge: "4", w.peer: "5"} {
		vlan.Attach(t, n, "net1", "", "192.168.100."+own+"/24")
		pods.Attach(t, n, "eth0", "", "10.128.0."+own+"/24")
		n.Dummy(t, "vips", blueHop+"/32", fakes.BlueService+"/32")
		n.Sysctl(t, "net/ipv4/conf/all/rp_filter", "0")
		n.Sysctl(t, "net/ipv4/conf/net1/rp_filter", "1")
	}
	vlan.Attach(t, w.vm, "eth0", "", "192.168.100.20/24")
	vlan.Attach(t, w.host, "eth0", "", "192.168.100.66/24")
	file := filepath.Join(t.TempDir(), "plan.json")
	fakes.Planned(t, file, fakes.Blue())
	source, err := inforce.New(file, inforce.Selection{Edge: 1}, nil, slog.New(slog.DiscardHandler))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w.agent = &Failover{Interface: serving.Interface{Name: "net1", InPod: true}, Source: source, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	w.agent.view.peerAddress.own = []string{w.peer.MAC(t, "net1")}
	return w
}

// look lets the agent look and ask at a time, and returns what it reports.
func (w sharedVIP) look(t *testing.T, known bool, now time.Time) []reported.UsedAddress {
	t.Helper()
	var err error
	w.edge.Do(t, func() {
		var table []device.Neighbor
		if table, err = device.Neighbors("net1"); err == nil {
			w.agent.lookForVIPHosts(table, known, now)
		}
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return w.agent.view.report.VIPHosts
}

// asks lets the agent ask again, and waits until the kernel has an answer of mac, or none if it is empty.
func (w sharedVIP) asks(t *testing.T, mac string, known bool, now time.Time) {
	t.Helper()
	w.edge.Run(t, "ip", "neighbor", "flush", "dev", "net1", "nud", "all")
	w.look(t, known, now)
	if mac == "" {
		entry := func() string { return w.edge.Run(t, "ip", "neighbor", "show", "to", blueHop, "dev", "net1") }
		NewWithT(t).Expect(entry()).To(ContainSubstring(blueHop), "it asks")
		// The kernel has sent all its requests. It may forget an entry that failed.
		NewWithT(t).Eventually(entry, "1m", "50ms").ShouldNot(ContainSubstring("INCOMPLETE"))
		return
	}
	NewWithT(t).Eventually(func() string { return w.edge.Neighbour(t, "net1", blueHop) }, "1m", "20ms").Should(Equal(mac))
}

// TestHostWithAVIP: a host that answers ARP requests for a VIP while both edges serve is reported once it has answered three times,
// and no longer than it answers. No edge is, and what VMs know does not change.
func TestHostWithAVIP(t *testing.T) {
	g, w, now := NewWithT(t), newSharedVIP(t), time.Now()
	peer, mac := w.peer.MAC(t, "net1"), w.host.MAC(t, "eth0")
	w.vm.SetNeighbour(t, "eth0", blueHop, peer, false)
	w.vm.SetNeighbour(t, "eth0", fakes.BlueService, peer, false)
	w.asks(t, "", true, now)
	g.Expect(w.look(t, true, now)).To(BeEmpty(), "the peer does not answer this question")

	w.host.Address(t, "eth0", blueHop+"/32")
	for range vipAnswers {
		g.Expect(w.agent.view.report.VIPHosts).To(BeEmpty(), "one answer may be an accident")
		now = now.Add(vipAnswerCounts)
		w.asks(t, mac, true, now)
		g.Expect(w.look(t, false, now)).To(BeEmpty(), "it may be a new pod of the peer")
		w.look(t, true, now)
	}
	g.Expect(w.look(t, true, now)).To(Equal([]reported.UsedAddress{{Address: netip.MustParseAddr(blueHop), MAC: mac}}))
	for _, vip := range []string{blueHop, fakes.BlueService} {
		g.Expect(w.vm.Neighbour(t, "eth0", vip)).To(Or(BeEmpty(), Equal(peer)), "no VM moves. A kernel with many neighbors forgets some")
	}
	g.Expect(w.vm.Run(t, "ip", "neighbor", "show", "to", "10.128.0.0/16")).To(BeEmpty(), "no VM stores who asks")

	w.host.Run(t, "ip", "address", "del", blueHop+"/32", "dev", "eth0")
	w.asks(t, "", true, now.Add(vipsAsked))
	g.Expect(w.look(t, true, now.Add(vipHostKept+time.Second))).To(BeEmpty())
}

// TestPeerHasTheVIPs: a peer that answers, since its kernel does not verify sources, is known by its MAC.
func TestPeerHasTheVIPs(t *testing.T) {
	g, w, now := NewWithT(t), newSharedVIP(t), time.Now()
	w.peer.Sysctl(t, "net/ipv4/conf/net1/rp_filter", "0")
	for range vipAnswers + 1 {
		now = now.Add(vipAnswerCounts)
		w.asks(t, w.peer.MAC(t, "net1"), true, now)
		g.Expect(w.look(t, true, now)).To(BeEmpty())
	}
}

// TestAskable: the kernel asks only if it does not have the VIPs on the interface, verifies sources, and may ask from another address.
func TestAskable(t *testing.T) {
	g, w := NewWithT(t), newSharedVIP(t)
	asks := func() (all []netip.Addr, from netip.Addr) {
		w.edge.Do(t, func() { all, from = w.agent.Interface.Askable(fakes.Blue()) })
		return all, from
	}
	all, from := asks()
	g.Expect(all).To(Equal(append(fakes.Blue().SharedAddresses(), reported.Controls(fakes.Blue())...)))
	g.Expect(from.String()).To(Equal("10.128.0.4"))
	for path, value := range map[string]string{"rp_filter": "2", "arp_announce": "2"} {
		file := "net/ipv4/conf/net1/" + path
		w.edge.Sysctl(t, file, value)
		all, _ = asks()
		g.Expect(all).To(BeEmpty(), path)
		w.edge.Sysctl(t, file, map[string]string{"rp_filter": "1", "arp_announce": "0"}[path])
	}
	for _, vip := range []string{blueHop, fakes.BlueService} {
		w.edge.Address(t, "net1", vip+"/32")
	}
	all, _ = asks()
	g.Expect(all).To(BeEmpty())
}

// TestVIPHostsAreFew: one VM can use any number of MACs, and a router can answer for every address.
func TestVIPHostsAreFew(t *testing.T) {
	g, now, n := NewWithT(t), time.Unix(1000, 0), fakes.Blue()
	addresses := append(n.SharedAddresses(), reported.Controls(n)...)
	answers := func(mac string, confirmed time.Duration) (out []device.Neighbor) {
		for _, a := range addresses {
			out = append(out, device.Neighbor{Address: a, MAC: mac, Confirmed: confirmed})
		}
		return out
	}
	var v vipHosts
	for i := range 1000 {
		v = v.next(answers(fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&255), 0)[:2], addresses, nil, now.Add(time.Duration(i)*time.Millisecond))
	}
	g.Expect(len(v.all)).To(BeNumerically("<=", sightings.Max))
	g.Expect(v.list(n)).To(BeEmpty())

	const one, router = "02:00:00:00:00:66", "02:00:00:00:00:aa"
	v = vipHosts{}
	for i := range vipAnswers {
		at := now.Add(time.Duration(i) * time.Minute)
		v = v.next(answers(one, 0)[:1], addresses, nil, at).next(answers(one, 5*time.Second)[:1], addresses, nil, at.Add(5*time.Second))
		v = v.next(answers(router, 0), addresses, nil, at).next(answers(router, vipAnswerCounts+1), addresses, nil, at.Add(time.Minute/2))
		g.Expect(v.list(n)).To(HaveLen(i/(vipAnswers-1)), "the same answer counts once")
	}
	g.Expect(v.list(n)).To(Equal([]reported.UsedAddress{{Address: n.NextHopVIP, MAC: one}}), "proxy ARP has no address")
	g.Expect(v.next(nil, addresses, []string{one}, now.Add(2*time.Minute)).list(n)).To(BeEmpty(), "it is an edge after all")
	g.Expect(v.next(nil, addresses[1:], nil, now.Add(2*time.Minute)).list(n)).To(BeEmpty(), "the plan has changed")
}
