package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// edgePlan writes the plan of a network 192.168.100.0/24 whose DNS server is at service, with one
// record and these upstreams.
func edgePlan(t *testing.T, file, service, record string, upstreams ...string) {
	t.Helper()
	bluePlan(t, file, netip.MustParseAddr(service), record)
	changePlan(t, file, func(n *network.Network) {
		n.DNS.Views[0].Clients = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		for _, u := range upstreams {
			n.DNS.Upstreams.Mode = network.UpstreamServers
			n.DNS.Upstreams.Servers = append(n.DNS.Upstreams.Servers, netip.MustParseAddrPort(u))
		}
	})
}

// changePlan changes the only network of the plan in file.
func changePlan(t *testing.T, file string, change func(*network.Network)) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p network.Plan
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	change(&p.Networks[0])
	if err := os.WriteFile(file, p.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUpstreamsByTheirDevice: as in a pod, each socket is bound to a device. A server on the network
// is asked there, any other one through the pod network.
func TestUpstreamsByTheirDevice(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := newVLAN(t, blueService+"/32")
	v.edge.Sysctl(t, "net/ipv4/conf/all/forwarding", "0")
	servers := map[string]*netns.Namespace{"192.168.100.20:53": v.machine, "10.128.0.1:53": v.pod}
	for at, host := range servers {
		dir := t.TempDir()
		file := filepath.Join(dir, "plan.json")
		edgePlan(t, file, blueService, at[:len(at)-len(":53")]+".example.org")
		start(t, host, "dns", "--plan", file, "--run-dir", dir, "--interface", "eth0", "--listen", at)
	}
	for upstream := range servers {
		dir := t.TempDir()
		file := filepath.Join(dir, "plan.json")
		edgePlan(t, file, blueService, "api.blue.example.com", upstream)
		_, stop := startUntil(t, v.edge, "dns", "--plan", file, "--run-dir", dir, "--watched-by", "dhcp")
		name := upstream[:len(upstream)-len(":53")] + ".example.org"
		g.Eventually(func() string {
			// It asks again.
			out, _ := v.machine.Command(t.Context(), "dig", "+tries=1", "+time=1", "+short", "@"+blueService, name).Output()
			return strings.TrimSpace(string(out))
		}).Should(Equal(blueService), "the upstream %s has this record", upstream)
		stop()
	}
}
