package main

import (
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// TestDNSForPods: pods ask at a port of their own, on the pod network, and get ClusterIPs. VMs reach that port at no
// address of the edge, and pods reach that of the VMs at none. The port is open only while the plan has names for pods.
func TestDNSForPods(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const clusterIP = "10.96.0.10"
	v := newVLAN(t, blueService+"/32")
	v.edge.Sysctl(t, "net/ipv4/conf/all/forwarding", "0")
	v.machine.Route(t, "10.128.0.0/24", "192.168.100.4") // The weak host model.
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	bluePlan(t, file, netip.MustParseAddr(blueService), "api.blue.example.com")
	start(t, v.edge, "dns", "--plan", file, "--run-dir", dir, "--watched-by", "dhcp")
	serve := func(on bool) {
		changePlan(t, file, func(n *network.Network) {
			n.DNS.Pods = network.View{}
			if on {
				n.DNS.Pods = network.View{
					Name: "pods", Clients: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, OwnNamesOnly: true,
					Records: []network.Record{{Name: "api.blue.example.com", Addresses: []netip.Addr{netip.MustParseAddr(clusterIP)}}},
				}
			}
		})
	}
	port := strconv.Itoa(wire.PodDNSPort)
	// A question without an answer takes a second. One that has an answer may take longer.
	const short, long = "+time=1", "+time=60"
	ask := func(from *netns.Namespace) func(at, within string, more ...string) string {
		return func(at, within string, more ...string) string {
			args := append([]string{"+tries=1", within, "@" + at, "api.blue.example.com"}, more...)
			out, _ := from.Command(t.Context(), "dig", args...).CombinedOutput()
			return strings.TrimSpace(string(out))
		}
	}
	fromPod, fromVM := ask(v.pod), ask(v.machine)
	g.Eventually(func() string { return fromVM(blueService, short, "+short") }).Should(Equal(blueService))
	g.Expect(fromPod("10.128.0.2", short, "-p", port)).To(ContainSubstring("no servers could be reached"), "pods are not answered by default")

	for range 2 {
		serve(true)
		g.Eventually(func() string { return fromPod("10.128.0.2", short, "-p", port, "+short") }).Should(Equal(clusterIP))
		g.Expect(fromPod("10.128.0.2", long, "-p", port, "+tcp", "+short")).To(Equal(clusterIP))
		g.Expect(fromPod("10.128.0.2", long, "-p", port, "AAAA")).To(And(ContainSubstring("NOERROR"), ContainSubstring("SOA")))
		for _, transport := range []string{"+notcp", "+tcp"} {
			g.Expect(fromVM(blueService, long, transport, "+short")).To(Equal(blueService), "VMs get the service VIP")
			for _, at := range []string{blueService, "192.168.100.4", "10.128.0.2"} {
				g.Expect(fromVM(at, short, transport, "-p", port)).To(ContainSubstring("no servers could be reached"), "%s %s", at, transport)
			}
			for _, at := range []string{blueService, "192.168.100.4", "10.128.0.2"} {
				g.Expect(fromPod(at, short, transport)).To(ContainSubstring("no servers could be reached"), "%s %s", at, transport)
			}
		}
		g.Expect(v.edge.Run(t, "ss", "-Hlnt")).To(MatchRegexp(`0\.0\.0\.0%eth0:` + port + `\s`))
		serve(false)
		g.Eventually(func() string { return fromPod("10.128.0.2", short, "-p", port) }).Should(ContainSubstring("no servers could be reached"))
		g.Expect(fromVM(blueService, long, "+short")).To(Equal(blueService))
	}
}
