// This file shows that an edge has no socket that is not bound to its device, and that
// one which the kernel around it would make a router does not serve.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// testSockets asks the kernel of each edge for all sockets of TCP and UDP, and expects
// each to be bound to a device; of raw ones and of those that see packets there are none.
func testSockets(t *testing.T, s *stage) {
	g := NewWithT(t)
	s.whole(t)
	for _, pod := range s.pods(t) {
		path, err := pod.netNS()
		g.Expect(err).NotTo(HaveOccurred())
		devices := map[string]int{}
		g.Expect(lan.InNetNS(path, func() error {
			sockets, err := inetSockets()
			for _, socket := range sockets {
				name := "none"
				if card, err := net.InterfaceByIndex(int(socket.ID.Interface)); err == nil {
					name = card.Name
				}
				devices[name]++
				if name == "none" {
					t.Errorf("%s: %s:%d to %s:%d is bound to no device", pod.Name, socket.ID.Source, socket.ID.SourcePort, socket.ID.Destination, socket.ID.DestinationPort)
				}
			}
			return err
		})).To(Succeed())
		t.Logf("%s: sockets by device: %v", pod.Name, devices)
		g.Expect(devices).To(And(HaveKey(vlanDevice), HaveKey("eth0")), "the edge serves on one and asks on the other")
		for _, kind := range []string{"raw", "raw6", "packet"} {
			lines, err := os.ReadFile(filepath.Join(filepath.Dir(path), "..", "net", kind))
			if errors.Is(err, fs.ErrNotExist) { // of IPv6, where there is none
				continue
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Split(strings.TrimSpace(string(lines)), "\n")).To(HaveLen(1), "%s sockets, beneath the heading", kind)
		}
	}
}

// inetSockets are those of this thread's network namespace.
func inetSockets() ([]*netlink.Socket, error) {
	var all []*netlink.Socket
	for _, list := range []func(uint8) ([]*netlink.Socket, error){netlink.SocketDiagTCP, netlink.SocketDiagUDP} {
		for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
			sockets, err := list(family)
			if err != nil {
				return nil, err
			}
			all = append(all, sockets...)
		}
	}
	return all, nil
}

// servers of an edge that serve on the VLAN.
func servers() []string { return []string{"dhcp", "dns", "ntp", "proxy"} }

// socket is where a server of the pod answers, for those who are not in the pod.
func (p edgePod) socket(server string) (string, error) {
	for _, pid := range process.ContainerProcesses(string(p.UID)) {
		socket := wire.Socket(filepath.Join("/proc", strconv.Itoa(pid), "root", "run", "oooi"), server)
		if _, err := os.Stat(socket); err == nil {
			return socket, nil
		}
	}
	return "", fmt.Errorf("%s of %s has no socket", server, p.Name)
}

// probe is nil where the server of the pod is ready, as the kubelet sees it.
func (p edgePod) probe(ctx context.Context, server string) error {
	socket, err := p.socket(server)
	if err != nil {
		return err
	}
	return health.Probe(ctx, socket)
}

// serves is nil where the server of the pod serves, as its failover agent sees it.
func (p edgePod) serves(ctx context.Context, server string) error {
	socket, err := p.socket(server)
	if err != nil {
		return err
	}
	return health.Serves(ctx, socket)
}

// testForwarding has the kernel around an edge forward before the edge's servers start:
// they serve nothing and say why, and machines are served by the other edge. The node
// forwards all the time on a testbed.
func testForwarding(t *testing.T, s *stage) {
	g := NewWithT(t)
	s.whole(t)
	pod := s.pods(t)[0]
	path, err := pod.netNS()
	g.Expect(err).NotTo(HaveOccurred())
	forward := func(value string) error {
		return lan.InNetNS(path, func() error {
			return os.WriteFile("/proc/sys/net/ipv4/conf/"+vlanDevice+"/forwarding", []byte(value), 0o644)
		})
	}
	s.sendTo(t, pod)
	g.Expect(forward("1")).To(Succeed())
	defer func() { _ = forward("0") }()
	for _, name := range append(servers(), "envoy") {
		status, err := pod.container(name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(process.KillContainer(status.ContainerID)).To(Succeed())
	}
	for _, name := range servers() {
		g.Eventually(func() error { return pod.probe(t.Context(), name) }).WithPolling(200*time.Millisecond).
			Should(MatchError(ContainSubstring("the kernel would forward packets from or to "+vlanDevice)), name)
	}
	g.Eventually(func() ([]uint16, error) { return listening(path) }).WithPolling(200*time.Millisecond).Should(BeEmpty(), "ports on the VLAN")
	g.Expect(s.passedOn(t, pod)).To(ContainElement("192.168.100.7"), "the kernel is a router now")
	m, stop := s.start(t)
	quiet(t, m, 3*time.Second)
	stop()
	g.Expect(forward("0")).To(Succeed())
	s.whole(t)
}

// listening are the ports of TCP, and those of UDP that machines ask, on the card on
// the VLAN.
func listening(path string) (ports []uint16, err error) {
	err = lan.InNetNS(path, func() error {
		card, err := net.InterfaceByName(vlanDevice)
		if err != nil {
			return err
		}
		sockets, err := inetSockets()
		for _, socket := range sockets {
			served := socket.State == netlink.TCP_LISTEN || slices.Contains([]uint16{53, 67, 123}, socket.ID.SourcePort)
			if int(socket.ID.Interface) == card.Index && served {
				ports = append(ports, socket.ID.SourcePort)
			}
		}
		return err
	})
	return ports, err
}
