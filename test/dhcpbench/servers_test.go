// This file starts the servers that are compared: each in a network namespace of its own, with one
// interface, on which the farm's clients are.

package dhcpbench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// The network on which each server runs. The pool has room for all clients.
const (
	subnet, netmask         = "10.77.0.0/16", "255.255.0.0"
	serverAddress           = "10.77.0.3"
	nextHop, edgeAddress    = "10.77.0.2", "10.77.0.4"
	poolFirst, poolLast     = "10.77.1.0", "10.77.200.0"
	leaseSeconds            = 3600
	domain, timeServer      = "blue.example.com", "10.77.0.3"
	clientsOfFarm, probers  = 1 << 16, 1<<16 - 8 // The first of the last eight clients.
	inFlight                = 16
	limitOfPhase            = 2 * time.Minute
	networkName, ourProgram = "clusters.vlan100", "OOOI_EDGE_BINARY"
	oursName                = "oooi"
)

// A contender is one DHCP server. Args returns what runs it in a directory of its own.
type contender struct {
	name string
	args func(t *testing.T, dir string, edge *netns.Namespace) (args, environment []string)
}

// ours runs without capabilities, as in a pod, and may open port 67, as there.
func ours(t *testing.T, edge *netns.Namespace, flags ...string) []string {
	t.Helper()
	edge.Sysctl(t, "net/ipv4/ip_unprivileged_port_start", "0")
	return append([]string{"setpriv", "--bounding-set", "-all", "--inh-caps", "-all", os.Getenv(ourProgram), "dhcp"}, flags...)
}

func contenders(t *testing.T, clients int) []contender {
	t.Helper()
	coredhcp := programs.Build(t, "coredhcp", "github.com/coredhcp/coredhcp/cmds/coredhcp")
	kea, libraries := programs.RequireUnpackedWith(t, []string{"kea-common", "liblog4cplus-2.0.5", "libmariadb3"}, "kea-dhcp4-server", "usr/sbin/kea-dhcp4")
	dnsmasq := programs.RequireUnpacked(t, "dnsmasq-base", "usr/sbin/dnsmasq")
	return []contender{
		{name: "Kea, memfile", args: func(t *testing.T, dir string, _ *netns.Namespace) ([]string, []string) {
			return []string{kea, "-c", keaConfig(t, dir)}, []string{libraries, "KEA_PIDFILE_DIR=" + dir, "KEA_LOCKFILE_DIR=" + dir}
		}},
		{name: "dnsmasq", args: func(t *testing.T, dir string, _ *netns.Namespace) ([]string, []string) {
			return []string{dnsmasq, "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=net1", "--user=root", "--group=root", "--pid-file=",
				"--log-facility=-", "--quiet-dhcp", "--no-ping", "--dhcp-authoritative", "--dhcp-lease-max=60000", "--dhcp-leasefile=" + filepath.Join(dir, "leases"),
				fmt.Sprintf("--dhcp-range=%s,%s,%s,%d", poolFirst, poolLast, netmask, leaseSeconds), "--dhcp-option=option:router," + nextHop,
				"--dhcp-option=option:dns-server," + serverAddress, "--dhcp-option=option:domain-name," + domain, "--dhcp-option=option:domain-search," + domain,
				"--dhcp-option=option:ntp-server," + timeServer, "--dhcp-option=option:mtu,1400"}, nil
		}},
		{name: "coredhcp", args: func(t *testing.T, dir string, _ *netns.Namespace) ([]string, []string) {
			return []string{coredhcp, "--conf", coredhcpConfig(t, dir), "--loglevel", "error"}, nil
		}},
		{name: oursName, args: startAPI(t, clients+4*stormSize)},
	}
}

// planFile is a plan whose replies have the options that the other servers have, and a route.
func planFile(t *testing.T, dir string) string {
	t.Helper()
	at := netip.MustParseAddr
	n := network.Network{
		Name: networkName, Primary: true, Services: []network.Service{network.ServiceDHCP, network.ServiceDNS}, CIDR: netip.MustParsePrefix(subnet),
		NextHopVIP: at(nextHop), ServiceVIP: at(serverAddress), Edges: []network.Edge{{Number: 1, Address: at(edgeAddress)}},
		DHCP: network.DHCP{
			Range: network.Range{First: at(poolFirst), Last: at(poolLast)}, LeaseTime: network.Duration(leaseSeconds * time.Second),
			ServerID: at(serverAddress), Router: at(nextHop), Routes: []network.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: at(nextHop)}},
			DNSServers: []netip.Addr{at(serverAddress)}, DomainName: domain, SearchDomains: []string{domain}, MTU: 1400, NTPServers: []netip.Addr{at(timeServer)},
		},
	}
	p := network.Plan{Cluster: network.Cluster{Namespace: "clusters", Name: "blue"}, Networks: []network.Network{n}}
	return programs.WriteFile(t, dir, "plan.json", string(p.JSON()))
}

func keaConfig(t *testing.T, dir string) string {
	t.Helper()
	type object = map[string]any
	option := func(name, data string) object { return object{"name": name, "data": data} }
	text, err := json.Marshal(object{"Dhcp4": object{
		"interfaces-config":         object{"interfaces": []string{"net1"}},
		"lease-database":            object{"type": "memfile", "persist": true, "name": filepath.Join(dir, "leases.csv"), "lfc-interval": 0},
		"valid-lifetime":            leaseSeconds,
		"authoritative":             true,
		"dhcp-queue-control":        object{"enable-queue": false},
		"sanity-checks":             object{"lease-checks": "none"},
		"expired-leases-processing": object{"reclaim-timer-wait-time": 3600},
		"loggers":                   []object{{"name": "kea-dhcp4", "severity": "WARN", "output_options": []object{{"output": "stderr"}}}},
		"subnet4": []object{{"subnet": subnet, "pools": []object{{"pool": poolFirst + " - " + poolLast}}, "option-data": []object{
			option("routers", nextHop), option("domain-name-servers", serverAddress), option("domain-name", domain), option("domain-search", domain),
			option("ntp-servers", timeServer), option("interface-mtu", "1400"),
		}}},
	}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return programs.WriteFile(t, dir, "kea.json", string(text))
}

func coredhcpConfig(t *testing.T, dir string) string {
	t.Helper()
	return programs.WriteFile(t, dir, "coredhcp.yaml", strings.Join([]string{
		"server4:", `  listen: ["%net1"]`, "  plugins:",
		"    - lease_time: " + fmt.Sprint(leaseSeconds) + "s", "    - server_id: " + serverAddress, "    - dns: " + serverAddress,
		"    - router: " + nextHop, "    - netmask: " + netmask, "    - mtu: 1400",
		fmt.Sprintf("    - range: %s/leases.sqlite3 %s %s %ds", dir, poolFirst, poolLast, leaseSeconds), "",
	}, "\n"))
}

// A running server, and the clients on its network.
type running struct {
	contender
	farm *Farm
	pid  int
	said *programs.Output
}

// start runs a contender until the test ends. It has served a new client, the prober, when start returns. A client that
// has a lease would be served before all leases and VMs are read.
func (c contender) start(t *testing.T, vms string, prober int) *running {
	t.Helper()
	g := NewWithT(t)
	// The files are on a disk, as leases are.
	dir, err := os.MkdirTemp("", "oooi-dhcp-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	segment, edge, clients := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, edge, "net1", "", edgeAddress+"/16", nextHop+"/32", serverAddress+"/32")
	segment.Attach(t, clients, "eth0", "")
	args, environment := c.args(t, dir, edge)
	r := &running{contender: c}
	clients.Do(t, func() { r.farm, err = Open("eth0", clientsOfFarm) })
	g.Expect(err).NotTo(HaveOccurred())
	p := edge.Command(context.WithoutCancel(t.Context()), args[0], args[1:]...)
	t.Cleanup(func() { _ = r.farm.Close() })
	p.Env = append(os.Environ(), environment...)
	r.said = programs.Start(t, p)
	r.pid = p.Process.Pid // ip, setpriv and the program are one process.
	r.farm.FirstWait = 200 * time.Millisecond
	probe, err := r.farm.Run(Boot, prober, 1, 1, time.Minute)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(probe.Done).To(Equal(1), "%s answers: %s", c.name, r.said)
	r.farm.FirstWait = 4 * time.Second
	return r
}
