// This file runs the DHCP clients of other projects that nodes have: NetworkManager, as in the
// initrd and the root of RHCOS, dhcpcd and systemd-networkd. Each gets a mount namespace of its
// own, so that it writes nothing outside of its directory.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// A dhcpClient is a program of another project, for device eth0 of a namespace.
type dhcpClient struct {
	name string
	// command returns what runs the client, with a directory that it keeps over a restart.
	command func(t *testing.T, n *netns.Namespace, dir string) []string
}

// dhcpClients are those that configure the address themselves and renew it for as long as they run.
// All identify themselves by their MAC (option 61: 01 and the MAC).
func dhcpClients() []dhcpClient {
	return []dhcpClient{
		{"NetworkManager", networkManager}, {"dhcpcd", dhcpcd}, {"systemd-networkd", networkd},
	}
}

// inMounts runs a script of lines in a mount namespace. /run and /var/lib are empty there, and /sys
// is read-only, from which programs see that no udev runs.
func inMounts(lines ...string) []string {
	before := []string{"set -e", "mount -t tmpfs none /run", "mount -t tmpfs none /var/lib", "mount -o remount,ro /sys"}
	return []string{"unshare", "--mount", "sh", "-c", strings.Join(append(before, lines...), "\n")}
}

// configFile writes a file in dir and returns its path. NetworkManager ignores connections that others may read.
func configFile(t *testing.T, dir, name string, lines ...string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// networkManager runs as in an initrd: without D-Bus, until all devices are configured. A second
// device, which no server answers, keeps it running.
func networkManager(t *testing.T, n *netns.Namespace, dir string) []string {
	t.Helper()
	program, library := programs.RequireUnpackedWith(t, []string{"libndp0"}, "network-manager", "usr/sbin/NetworkManager")
	n.Dummy(t, "eth1")
	config := configFile(t, dir, "NetworkManager.conf",
		"[main]", "dhcp=internal", "dns=none", "rc-manager=unmanaged", "hostname-mode=none", "no-auto-default=*", "plugins=keyfile",
		"[keyfile]", "path="+dir,
		"[logging]", "level=DEBUG", "domains=DHCP4")
	for i, device := range []string{"eth0", "eth1"} {
		configFile(t, dir, device+".nmconnection",
			"[connection]", "id="+device, "type=ethernet", "interface-name="+device, fmt.Sprintf("uuid=7d3d1f5e-5d4f-4f2e-9c2b-3f1c5d1d7c1%d", i),
			"[ipv4]", "method=auto", "dhcp-client-id=mac", "dhcp-timeout=2147483647", "[ipv6]", "method=disabled")
	}
	return inMounts("mkdir -p /run/NetworkManager /var/lib/NetworkManager",
		fmt.Sprintf("%s exec %s --configure-and-quit=initrd --no-daemon --debug --config %s --config-dir %s", library, program, config, dir))
}

// dhcpcd probes its address by ARP before it uses it.
func dhcpcd(t *testing.T, _ *netns.Namespace, dir string) []string {
	t.Helper()
	program := programs.RequireUnpacked(t, "dhcpcd-base", "usr/sbin/dhcpcd", "sbin/dhcpcd")
	config := configFile(t, dir, "dhcpcd.conf", "clientid", "option classless_static_routes,domain_name_servers,interface_mtu", "script /bin/true", "persistent")
	return inMounts("mkdir -p /run/dhcpcd /var/lib/dhcpcd "+dir+"/leases", "mount --bind "+dir+"/leases /var/lib/dhcpcd",
		"exec "+program+" -4 -B -d -f "+config+" eth0")
}

func networkd(t *testing.T, _ *netns.Namespace, dir string) []string {
	t.Helper()
	program := programs.RequireUnpacked(t, "systemd", "usr/lib/systemd/systemd-networkd", "lib/systemd/systemd-networkd")
	config := configFile(t, dir, "eth0.network", "[Match]", "Name=eth0",
		"[Network]", "DHCP=ipv4", "LinkLocalAddressing=no", "IPv6AcceptRA=no", "KeepConfiguration=dhcp-on-stop", "[DHCPv4]", "ClientIdentifier=mac")
	return inMounts("mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases", "install -m 644 "+config+" /run/systemd/network/",
		"chown -R systemd-network /run/systemd/netif", "SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console exec "+program)
}

// shortLeases is a plan with one edge, a lease time that clients renew within the test, and routes.
func shortLeases(t *testing.T) (file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "test", "scenarios", "lb-ip", "plan.json"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring(`"leaseTime": "1h0m0s"`))
	return configFile(t, t.TempDir(), "plan.json", strings.ReplaceAll(string(text), `"leaseTime": "1h0m0s"`, `"leaseTime": "20s"`))
}

// TestForeignClients: each client gets an address and the routes of the plan, renews it while it
// runs, and gets the same address when it boots again.
func TestForeignClients(t *testing.T) {
	for _, client := range dhcpClients() {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := vlan{edge: netns.New(t), machine: netns.New(t)}
			segment := netns.NewSegment(t)
			segment.Attach(t, v.edge, "net1", "", "192.168.100.4/24", "192.168.100.2/32", "192.168.100.3/32")
			segment.Attach(t, v.machine, "eth0", "02:00:00:00:00:01")
			dir, run := t.TempDir(), t.TempDir()
			args := client.command(t, v.machine, dir)
			start(t, v.edge, "dhcp", "--plan", shortLeases(t), "--run-dir", run)
			g.Eventually(func() error { return command(t, v.edge, "probe", "dhcp", "--run-dir", run).Run() }).Should(Succeed())
			address := func() string {
				for _, p := range v.machine.Addresses(t, "eth0") {
					return p.String()
				}
				return ""
			}
			counted := func() string { return scraped(t, wire.Socket(run, "dhcp")) }

			discovers := regexp.MustCompile(`outcome="[^"]*",type="DISCOVER"\} \d+`)
			first := ""
			renewed := t.Run("boots and renews", func(t *testing.T) {
				g := NewWithT(t)
				followProgram(t, v.machine, args...)
				g.Eventually(address).Should(MatchRegexp(`^192\.168\.100\.\d+/24$`))
				first = address()
				asked := discovers.FindAllString(counted(), -1)
				g.Expect(asked).NotTo(BeEmpty())
				g.Eventually(func() string { return v.machine.Run(t, "ip", "route") }).Should(And(
					ContainSubstring("default via 192.168.100.2 "), ContainSubstring("10.240.0.200 via 192.168.100.2 "), ContainSubstring("192.168.100.3 via 192.168.100.2 ")))
				g.Eventually(counted).Should(MatchRegexp(`outcome="granted",type="REQUEST"\} [2-9]`), "a renewal")
				g.Expect(discovers.FindAllString(counted(), -1)).To(Equal(asked), "it had an address")
				g.Expect(address()).To(Equal(first))
			})
			if !renewed {
				return
			}
			t.Run("boots again", func(t *testing.T) {
				g := NewWithT(t)
				v.machine.Run(t, "ip", "address", "flush", "dev", "eth0")
				followProgram(t, v.machine, args...)
				g.Eventually(address).Should(Equal(first))
				g.Expect(counted()).NotTo(ContainSubstring("refused"))
			})
		})
	}
}
