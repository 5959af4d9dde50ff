package nad_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/hostile"
	"github.com/cldmnky/oooi/test/netns"
)

// Addresses of a kernel under attack. Behind the pod is everything else, through its router.
var (
	vip, vm, stranger  = netip.MustParseAddr("192.168.100.3"), netip.MustParseAddr("192.168.100.9"), netip.MustParseAddr("192.0.2.77")
	edgeIP, pod        = netip.MustParseAddr("10.128.0.2"), netip.MustParseAddr("10.128.0.1")
	pod6, stranger6    = netip.MustParseAddr("fd00:1::1"), netip.MustParseAddr("2001:db8::9")
	eth06              = netip.MustParseAddr("fd00:1::2")
	apiServer, other   = netip.MustParseAddr("172.30.0.1"), netip.MustParseAddr("10.128.0.77")
	secret             = "the payload of a VM"
	acknowledged       = uint32(0x5ec4e75e)
	acknowledgedOnWire = []byte{0x5e, 0xc4, 0xe7, 0x5e}
	// office is in a client network of clientRoutes. Its packets come from the gateway, which is the VM's
	// host here.
	office = netip.MustParseAddr("10.9.0.5")
)

// A siege is the kernel of an edge between the network and the pod network, as on a node
// that forwards and has a loose rp_filter.
type siege struct {
	*testing.T
	edge    *netns.Namespace
	vm, pod *hostile.Port
	net1MAC net.HardwareAddr
	eth0MAC net.HardwareAddr
}

// besiege makes a siege. The tuning plugin writes the sysctls in an order, after the IPAM plugin
// has set routes.
func besiege(t *testing.T, sysctls map[string]string, order []string, routes ...network.Route) siege {
	t.Helper()
	g := NewWithT(t)
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	s := siege{T: t, edge: netns.New(t)}
	guest, neighbor := netns.New(t), netns.New(t)
	for path, value := range map[string]string{"all/forwarding": "1", "all/rp_filter": "2", "default/rp_filter": "2"} {
		s.edge.Sysctl(t, "net/ipv4/conf/"+path, value)
	}
	for _, i := range []string{"all", "default"} { // Forwarding has reset it.
		s.edge.Sysctl(t, "net/ipv4/conf/"+i+"/accept_redirects", "1")
	}
	pods.Attach(t, s.edge, "eth0", "", edgeIP.String()+"/24")
	pods.Attach(t, neighbor, "eth0", "", pod.String()+"/24")
	s.edge.Route(t, "0.0.0.0/0", pod.String())
	s.edge.Run(t, "ip", "address", "add", eth06.String()+"/64", "dev", "eth0", "nodad")
	neighbor.Run(t, "ip", "address", "add", pod6.String()+"/64", "dev", "eth0", "nodad")
	s.edge.Run(t, "ip", "neighbor", "replace", pod6.String(), "lladdr", neighbor.MAC(t, "eth0"), "dev", "eth0")
	s.edge.Run(t, "ip", "-6", "route", "replace", "default", "via", pod6.String(), "dev", "eth0")
	vlan.Attach(t, s.edge, "net1", "", "192.168.100.4/24", vip.String()+"/32")
	vlan.Attach(t, guest, "eth0", "", vm.String()+"/24")
	for _, r := range routes {
		s.edge.Route(t, r.Destination.String(), vm.String())
	}
	for _, key := range order {
		s.edge.Sysctl(t, strings.ReplaceAll(strings.ReplaceAll(key, "IFNAME", "net1"), ".", "/"), sysctls[key])
	}
	open := func(n *netns.Namespace) (p *hostile.Port) {
		var err error
		n.Do(t, func() { p, err = hostile.Open("eth0") })
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(p.Close)
		return p
	}
	s.vm, s.pod = open(guest), open(neighbor)
	s.net1MAC, s.eth0MAC = mac(t, s.edge, "net1"), mac(t, s.edge, "eth0")
	return s
}

func mac(t *testing.T, n *netns.Namespace, device string) net.HardwareAddr {
	t.Helper()
	out, err := net.ParseMAC(n.MAC(t, device))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

// fromVM sends a packet to the edge as a VM.
func (s siege) fromVM(kind uint16, packet []byte) {
	s.Helper()
	NewWithT(s).Expect(s.vm.Send(s.vm.MAC(), s.net1MAC, kind, packet)).To(Succeed())
}

// atPod returns what arrived at the pod. The edge has processed what VMs sent before: a VM
// has an answer to a later packet, and the pod has a still later one.
func (s siege) atPod() [][]byte {
	s.Helper()
	g := NewWithT(s)
	s.answered()
	var c net.Conn
	var err error
	s.edge.Do(s.T, func() { c, err = net.Dial("udp4", netip.AddrPortFrom(pod, 9).String()) })
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte("the last one"))
	g.Expect(err).NotTo(HaveOccurred())
	out, err := s.pod.Until(func(p []byte) bool { return bytes.HasSuffix(p, []byte("the last one")) })
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// answered returns what arrived at the VM until the edge answered it.
func (s siege) answered() [][]byte {
	s.Helper()
	s.fromVM(hostile.IPv4, hostile.Echo(vm, vip, "the last one"))
	out, err := s.vm.Until(func(p []byte) bool { return bytes.HasSuffix(p, []byte("the last one")) && hostile.Source(p) == vip })
	NewWithT(s).Expect(err).NotTo(HaveOccurred())
	return out
}

// toAPIServer returns the kernel's route to the API server for sockets on the pod network.
func (s siege) toAPIServer() string {
	return s.edge.Run(s.T, "ip", "route", "get", apiServer.String(), "oif", "eth0")
}

func has(all [][]byte, part []byte) bool {
	return slices.ContainsFunc(all, func(p []byte) bool { return bytes.Contains(p, part) })
}

// attacks return whether they had success.
func attacks() map[string]func(s siege) bool {
	return map[string]func(s siege) bool{
		"an echo reply to a forged source carries a payload into the pod network": func(s siege) bool {
			s.fromVM(hostile.IPv4, hostile.Echo(stranger, vip, secret))
			return has(s.atPod(), []byte(secret))
		},
		"a reset to a forged source comes from the published address, with the sequence number of a VM": func(s siege) bool {
			s.fromVM(hostile.IPv4, hostile.SYN(netip.AddrPortFrom(stranger, 443), netip.AddrPortFrom(vip, 6443), acknowledged))
			return has(s.atPod(), acknowledgedOnWire)
		},
		"an IPv6 echo reply to a forged source carries a payload into the pod network": func(s siege) bool {
			s.fromVM(hostile.IPv6, hostile.Echo(stranger6, eth06, secret))
			return has(s.atPod(), []byte(secret))
		},
		"a redirect leads packets for the API server through another pod": func(s siege) bool {
			s.edge.Run(s.T, "ip", "neighbor", "replace", other.String(), "lladdr", s.pod.MAC().String(), "dev", "eth0", "nud", "reachable")
			for range 3 { // The kernel takes one in a while.
				s.fromVM(hostile.IPv4, hostile.Redirect(pod, vip, apiServer, other))
				s.answered()
			}
			return strings.Contains(s.toAPIServer(), "via "+other.String())
		},
		"an ICMP error of a VM lowers the path MTU to the API server": func(s siege) bool {
			s.fromVM(hostile.IPv4, hostile.TooBig(vm, vip, apiServer, 68))
			s.answered()
			return strings.Contains(s.toAPIServer(), " mtu ")
		},
		"a packet of a VM is forwarded to a pod": func(s siege) bool {
			s.fromVM(hostile.IPv4, hostile.Datagram(netip.AddrPortFrom(vm, 1), netip.AddrPortFrom(pod, 80), []byte(secret)))
			return has(s.atPod(), []byte(secret))
		},
		"a packet of a pod is forwarded to a VM": func(s siege) bool {
			p := hostile.Datagram(netip.AddrPortFrom(stranger, 1), netip.AddrPortFrom(vm, 22), []byte(secret))
			NewWithT(s).Expect(s.pod.Send(s.pod.MAC(), s.eth0MAC, hostile.IPv4, p)).To(Succeed())
			return has(append(s.answered(), s.answered()...), []byte(secret))
		},
		"a pod in the name of a VM gets an answer into the network": func(s siege) bool {
			NewWithT(s).Expect(s.pod.Send(s.pod.MAC(), s.eth0MAC, hostile.IPv4, hostile.Echo(vm, edgeIP, secret))).To(Succeed())
			return has(append(s.answered(), s.answered()...), []byte(secret))
		},
		"an IPv6 datagram of a VM is forwarded to a pod": func(s siege) bool {
			s.edge.Sysctl(s.T, "net/ipv6/conf/all/forwarding", "1")
			s.fromVM(hostile.IPv6, hostile.Datagram(netip.AddrPortFrom(stranger6, 1), netip.AddrPortFrom(pod6, 80), []byte(secret)))
			return has(s.atPod(), []byte(secret))
		},
		"an IPv6 router advertisement sets a route through a VM": func(s siege) bool {
			p := hostile.Advertisement(netip.MustParseAddr("fe80::1"), s.vm.MAC(), netip.MustParsePrefix("2001:db8::/64"))
			NewWithT(s).Expect(s.vm.Send(s.vm.MAC(), net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, hostile.IPv6, p)).To(Succeed())
			s.answered()
			return strings.Contains(s.edge.Run(s.T, "ip", "-6", "route", "show", "dev", "net1"), "default")
		},
	}
}

// written returns the sysctls of the edge NAD for VMs' NAD config.
func written(t *testing.T, nodes nad.Nodes, config string) map[string]string {
	t.Helper()
	a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan9", Config: config}, nodes)
	NewWithT(t).Expect(fault).To(BeNil())
	var conf struct {
		Plugins []struct {
			Sysctl map[string]string
		}
	}
	NewWithT(t).Expect(json.Unmarshal([]byte(a.EdgeNADConfig), &conf)).To(Succeed())
	out := map[string]string{}
	for _, p := range conf.Plugins {
		maps.Copy(out, p.Sysctl)
	}
	return out
}

// TestHostileVM attacks the kernel of an edge from both sides. Each attack succeeds without the
// sysctls of the edge NAD, and fails with them, in whatever order they are written, and whether or
// not the edge has routes to client networks.
func TestHostileVM(t *testing.T) {
	sysctls := written(t, nad.Nodes{ForwardByDefault: true}, `{"type":"bridge","bridge":"br1"}`)
	forward := slices.Sorted(maps.Keys(sysctls))
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	for name, attack := range attacks() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(attack(besiege(t, nil, nil))).To(BeTrue(), "without the sysctls")
			for order, routes := range map[*[]string][]network.Route{&forward: nil, &backward: clientRoutes()} {
				s := besiege(t, sysctls, *order, routes...)
				g.Expect(attack(s)).To(BeFalse())
				s.edge.Do(t, func() {
					seen, err := device.Read("net1")
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(seen.Isolates()).To(Succeed())
					g.Expect(seen.VerifiesSources).To(BeTrue())
					g.Expect(seen.VerifiesIPv6Sources).To(BeTrue())
				})
			}
		})
	}
}

// TestHostBeyondTheGateway: the kernel of an edge answers hosts in client networks through the gateway, and drops their packets if it has
// no routes to them. It drops packets of all other hosts behind the gateway, with or without these routes.
func TestHostBeyondTheGateway(t *testing.T) {
	sysctls := written(t, nad.Nodes{ForwardByDefault: true}, `{"type":"bridge","bridge":"br1"}`)
	order := slices.Sorted(maps.Keys(sysctls))
	for _, routes := range [][]network.Route{nil, clientRoutes()} {
		g, s := NewWithT(t), besiege(t, sysctls, order, routes...)
		for _, from := range []netip.Addr{office, stranger, other} {
			s.fromVM(hostile.IPv4, hostile.Echo(from, vip, secret))
			answered := slices.ContainsFunc(s.answered(), func(p []byte) bool {
				return bytes.Contains(p, []byte(secret)) && hostile.Destination(p) == from
			})
			g.Expect(answered).To(Equal(from == office && routes != nil), "%s with routes %v", from, routes)
			g.Expect(has(s.atPod(), []byte(secret))).To(BeFalse(), "%s with routes %v", from, routes)
		}
		g.Expect(s.pod.Send(s.pod.MAC(), s.eth0MAC, hostile.IPv4, hostile.Echo(office, edgeIP, secret))).To(Succeed())
		g.Expect(has(append(s.answered(), s.answered()...), []byte(secret))).To(BeFalse(), "a pod in the name of such a host")
	}
}
