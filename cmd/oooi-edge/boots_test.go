package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// bootName is the name of Ignition.
const bootName = "ignition.blue.example.com"

// bootPlan writes a plan whole: names and Ignition at one port, the API server and konnectivity at others.
func bootPlan(t *testing.T, file string) {
	t.Helper()
	bluePlan(t, file, netip.MustParseAddr(blueService), bootName)
	changePlan(t, file, func(n *network.Network) {
		n.AccessLog = network.AccessLogAll
		n.Primary, n.Services = true, []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}
		for port, service := range map[uint16]string{443: network.IgnitionService, 6443: network.APIService, 8091: network.KonnectivityService} {
			n.Backends = append(n.Backends, network.Backend{Name: service + ":1", Service: service, Port: port, ClusterIP: netip.MustParseAddr("10.128.0.1")})
			l := network.Listener{Address: netip.MustParseAddr(blueService), Port: port, Default: service + ":1"}
			if port == 443 {
				l.Default, l.Forwards = "", []network.Forward{{ServerNames: []string{bootName}, Backend: service + ":1"}}
			}
			n.Listeners = append(n.Listeners, l)
		}
	})
}

// TestABootLeavesItsSteps: a VM asks for the name of Ignition, connects to Ignition, to the API server and to konnectivity, and stops
// after each. The DNS server and the proxy store each step for the VM with the lease, and no other. Connections of a host that takes
// the address of the VM, with another MAC, are no steps of the VM.
func TestABootLeavesItsSteps(t *testing.T) {
	g := NewWithT(t)
	envoy := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32")
	for _, port := range []int{443, 6443, 8091} {
		greeter(t, v.pod, fmt.Sprintf("10.128.0.1:%d", port))
	}
	run := fakes.RunDir(t)
	file := filepath.Join(run, "plan.json")
	bootPlan(t, file)
	lease := func(mac string) {
		b, err := json.Marshal([]network.Lease{{Address: netip.MustParseAddr("192.168.100.20"), MAC: mac, VM: "blue-worker-1", Expires: time.Now().Add(time.Hour)}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.MkdirAll(wire.Dir(run, "dhcp"), 0o755)).To(Succeed())
		g.Expect(sharedfiles.Replace(wire.File(run, "dhcp", wire.LeaseCache), b)).To(Succeed())
	}
	lease("02:00:00:00:00:66")
	start(t, v.edge, "dns", "--plan", file, "--run-dir", run, "--watched-by", "dhcp")
	said := start(t, v.edge, "proxy", "--plan", file, "--run-dir", run, "--envoy", envoy)
	for _, program := range []string{"dns", "proxy"} {
		g.Eventually(func() error { return command(t, v.edge, "probe", program, "--run-dir", run).Run() }).Should(Succeed())
	}
	seen := func() []string {
		var out []string
		for _, program := range []string{"dns", "proxy"} {
			var all sharedfiles.Boots
			if b, err := os.ReadFile(wire.File(run, program, wire.BootsFile)); err == nil {
				g.Expect(json.Unmarshal(b, &all)).To(Succeed())
			}
			for vm, steps := range all {
				for _, s := range slices.Sorted(maps.Keys(steps)) {
					out = append(out, vm+" "+string(s))
				}
			}
		}
		return out
	}
	dials := func(port string) net.Conn { return connects(t, v.machine, port) }
	for _, port := range []string{"6443", "8091"} {
		g.Expect(dials(port).Close()).To(Succeed())
	}
	// Envoy reports the begin of a connection before its end.
	g.Eventually(func() int { return strings.Count(said.String(), "connection ended") }).Should(Equal(2))
	lease(v.machine.MAC(t, "eth0"))
	v.machine.Run(t, "dig", "+tries=1", "+time=60", "@"+blueService, bootName)
	g.Eventually(seen).Should(Equal([]string{"blue-worker-1 name"}))
	dials("443")
	g.Eventually(seen).Should(Equal([]string{"blue-worker-1 name", "blue-worker-1 ignition"}))
	dials("6443")
	g.Eventually(seen).Should(Equal([]string{"blue-worker-1 name", "blue-worker-1 api", "blue-worker-1 ignition"}))
	dials("8091")
	g.Eventually(seen).Should(Equal([]string{"blue-worker-1 name", "blue-worker-1 api", "blue-worker-1 ignition", "blue-worker-1 konnectivity"}))
}

// connects opens a connection that stays open, and reads what the backend says. At port 443 it sends the name of Ignition.
func connects(t *testing.T, n *netns.Namespace, port string) (c net.Conn) {
	t.Helper()
	if port != "443" {
		said, c, err := greeted(t, n, net.JoinHostPort(blueService, port))
		NewWithT(t).Expect(said, err).To(Equal("the API"))
		return c
	}
	var err error
	n.Do(t, func() { c, err = net.DialTimeout("tcp4", net.JoinHostPort(blueService, port), patience.Limit) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience.Limit))
	// The backend speaks no TLS, so the handshake ends with an error of its first line.
	NewWithT(t).Expect(tls.Client(c, &tls.Config{ServerName: bootName, MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())).To(MatchError(ContainSubstring("TLS")))
	return c
}
