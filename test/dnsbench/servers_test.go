// This file starts the servers that are compared, with the same names.

package dnsbench

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

const (
	address                = "127.0.0.1"
	domain, reverse        = "blue.example.com", "100.168.192.in-addr.arpa"
	names                  = 500
	ourProgram             = "OOOI_EDGE_BINARY"
	serverCore, loaderCore = "0", "1"
)

// name returns the name and the address of host i.
func name(i int) (host, address string) {
	return fmt.Sprintf("host-%03d.%s", i, domain), fmt.Sprintf("192.168.100.%d", 5+i%250)
}

// pointers are the names of the addresses. Each address has one, in all servers.
func pointers() (lines string) {
	for i := range 250 {
		host, at := name(i)
		lines += fmt.Sprintf("%s.%s. 30 IN PTR %s.\n", at[strings.LastIndexByte(at, '.')+1:], reverse, host)
	}
	return lines
}

// zones are the files of the two zones.
func zones(t *testing.T, dir string) (forward, backward string) {
	t.Helper()
	head := func(zone string) string {
		return fmt.Sprintf("%s. 5 IN SOA %s. hostmaster.%s. 1 3600 600 86400 5\n%s. 5 IN NS ns.invalid.\n", zone, zone, zone, zone)
	}
	text := head(domain) + "*.apps." + domain + ". 30 IN A 192.168.100.3\n"
	for i := range names {
		host, at := name(i)
		text += fmt.Sprintf("%s. 30 IN A %s\n", host, at)
	}
	return programs.WriteFile(t, dir, "forward", text), programs.WriteFile(t, dir, "backward", head(reverse)+pointers())
}

// A contender is one DNS server. Args returns what runs it at a port, with a directory of its own.
type contender struct {
	name string
	args func(t *testing.T, dir string, port int) (args, environment []string)
}

func contenders(t *testing.T) []contender {
	t.Helper()
	core := programs.Build(t, "coredns", ".")
	knot, libraries := programs.RequireUnpackedWith(t, []string{"libdnssec9", "libknot13", "libzscanner4", "liburcu8", "libedit2", "libxdp1", "libbpf1", "liblmdb0"}, "knot", "usr/sbin/knotd")
	unbound, unboundLibraries := programs.RequireUnpackedWith(t, []string{"libhiredis0.14", "libprotobuf-c1", "libevent-2.1-7"}, "unbound", "usr/sbin/unbound")
	dnsmasq := programs.RequireUnpacked(t, "dnsmasq-base", "usr/sbin/dnsmasq")
	oneCore := []string{"GOMAXPROCS=1"}
	return []contender{
		{"oooi", func(t *testing.T, dir string, port int) (args, environment []string) {
			return []string{"setpriv", "--bounding-set", "-all", "--inh-caps", "-all", os.Getenv(ourProgram), "dns", "--plan", planFile(t, dir), "--run-dir", dir,
				"--interface", "lo", "--listen", fmt.Sprintf("%s:%d", address, port)}, oneCore
		}},
		{"CoreDNS, view and file", func(t *testing.T, dir string, port int) (args, environment []string) {
			return []string{core, "-conf", corefile(t, dir, port, "  view vms {\n    expr incidr(client_ip(), '127.0.0.0/8')\n  }\n")}, oneCore
		}},
		{"CoreDNS, file", func(t *testing.T, dir string, port int) (args, environment []string) {
			return []string{core, "-conf", corefile(t, dir, port, "")}, oneCore
		}},
		{"knot", func(t *testing.T, dir string, port int) (args, environment []string) {
			forward, backward := zones(t, dir)
			return []string{knot, "-c", programs.WriteFile(t, dir, "knot.conf", fmt.Sprintf("server:\n  listen: %s@%d\n  rundir: %s\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\ndatabase:\n  storage: %s\n"+
				"zone:\n- domain: %s\n  file: %s\n- domain: %s\n  file: %s\n", address, port, dir, dir, domain, forward, reverse, backward))}, []string{libraries}
		}},
		{"unbound", func(t *testing.T, dir string, port int) (args, environment []string) {
			return []string{unbound, "-d", "-c", unboundConfig(t, dir, port)}, []string{unboundLibraries}
		}},
		{"dnsmasq", func(t *testing.T, dir string, port int) (args, environment []string) {
			text := fmt.Sprintf("port=%d\nlisten-address=%s\nbind-interfaces\nno-resolv\nno-hosts\nuser=root\ngroup=root\npid-file=\nlocal=/%s/%s/\naddress=/apps.%s/192.168.100.3\n", port, address, domain, reverse, domain)
			for i := range names {
				host, at := name(i)
				text += fmt.Sprintf("host-record=%s,%s\n", host, at)
			}
			return []string{dnsmasq, "--keep-in-foreground", "--conf-file=" + programs.WriteFile(t, dir, "dnsmasq.conf", text)}, nil
		}},
	}
}

// planFile is a plan with these names. Its view is of the clients on the loopback device.
func planFile(t *testing.T, dir string) string {
	t.Helper()
	at, vms := netip.MustParseAddr, netip.MustParsePrefix("192.168.100.0/24")
	v := network.View{Name: "vms", Clients: []netip.Prefix{vms, netip.MustParsePrefix("127.0.0.0/8")}, Zones: []string{domain},
		Records: []network.Record{{Name: "*.apps." + domain, Addresses: []netip.Addr{at("192.168.100.3")}}}}
	for i := range names {
		host, a := name(i)
		v.Records = append(v.Records, network.Record{Name: host, Addresses: []netip.Addr{at(a)}})
	}
	p := network.Plan{Cluster: network.Cluster{Namespace: "clusters", Name: "blue", Domain: domain}, Networks: []network.Network{{
		Name: "clusters.vlan100", Services: []network.Service{network.ServiceDNS}, CIDR: vms, NextHopVIP: at("192.168.100.2"), ServiceVIP: at("192.168.100.3"),
		Edges: []network.Edge{{Number: 1, Address: at("192.168.100.4")}}, DNS: network.DNS{Upstreams: network.Upstreams{Mode: network.UpstreamNone}, Views: []network.View{v}},
	}}}
	return programs.WriteFile(t, dir, "plan.json", string(p.JSON()))
}

func corefile(t *testing.T, dir string, port int, view string) string {
	t.Helper()
	forward, backward := zones(t, dir)
	return programs.WriteFile(t, dir, "Corefile", fmt.Sprintf("%s:%d %s:%d {\n  bind %s\n%s  file %s %s\n  file %s %s\n}\n", domain, port, reverse, port, address, view, forward, domain, backward, reverse))
}

func unboundConfig(t *testing.T, dir string, port int) string {
	t.Helper()
	text := fmt.Sprintf("server:\n  interface: %s@%d\n  do-daemonize: no\n  username: \"\"\n  chroot: \"\"\n  directory: %s\n  pidfile: \"\"\n  use-syslog: no\n  num-threads: 1\n"+
		"  incoming-num-tcp: 100\n  access-control: 127.0.0.0/8 allow\n  module-config: iterator\n  local-zone: \"%s.\" static\n  local-zone: \"apps.%s.\" redirect\n"+
		"  local-data: \"apps.%s. 30 IN A 192.168.100.3\"\n  local-zone: \"%s.\" static\n  local-data: \"%s. 5 IN SOA %s. hostmaster.%s. 1 3600 600 86400 5\"\n",
		address, port, dir, domain, domain, domain, reverse, domain, domain, domain)
	for i := range names {
		host, at := name(i)
		text += fmt.Sprintf("  local-data: \"%s. 30 IN A %s\"\n", host, at)
	}
	for line := range strings.Lines(pointers()) {
		text += fmt.Sprintf("  local-data: \"%s\"\n", strings.TrimSpace(line))
	}
	return programs.WriteFile(t, dir, "unbound.conf", text+"remote-control:\n  control-enable: no\n")
}

// A running server.
type running struct {
	contender
	pid, port int
}

// start runs a contender in host until the test ends. It has answered when start returns.
func (c contender) start(t *testing.T, host *netns.Namespace, port int) *running {
	t.Helper()
	g := NewWithT(t)
	args, environment := c.args(t, t.TempDir(), port)
	p := host.Command(context.WithoutCancel(t.Context()), "taskset", append([]string{"-c", serverCore}, args...)...)
	p.Env = append(os.Environ(), environment...)
	said := programs.Start(t, p)
	for _, q := range [][]string{{"host-007." + domain, "A", "192.168.100.12"}, {"a.b.apps." + domain, "A", "192.168.100.3"}, {"12." + reverse, "PTR", "host-007." + domain + "."}} {
		g.Eventually(func() string {
			// It asks again.
			out, _ := host.Command(t.Context(), "dig", "+tries=1", "+time=1", "+short", "@"+address, "-p", fmt.Sprint(port), q[0], q[1]).Output()
			return strings.TrimSpace(string(out))
		}).Should(Equal(q[2]), "%s answers %v: %s", c.name, q, said)
	}
	return &running{contender: c, pid: p.Process.Pid, port: port}
}
