// The LAN and cables to it: bridges, ports, routes.

package lan

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// A LAN is a bridge that stands for a physical network with tagged VLANs on it.
type LAN struct {
	NetNS  string // path of the network namespace that the bridge is in
	Plugin string // path of the CNI plugin bridgevlan, which makes access ports where the kernel's bridges know no VLANs
}

// Bridge is the name of the bridge to the LAN, in each network namespace that has one.
const Bridge = "lan0"

const (
	nodeNIC, nodePort = "node0", "node0p" // a node's interface on its bridge to the LAN, and the port it is on
	uplink            = "uplink"          // of a bridge that a cable connects to the LAN
)

// NewBridge makes a bridge to the LAN in a network namespace, with an interface of that address on it. The bridge filters
// VLANs where the kernel can. The gateway is of the default route; it need not exist.
func NewBridge(path string, address netip.Prefix, gateway netip.Addr) error {
	err := InNetNS(path, func() error {
		// The node routes between its pods and the LAN. Netfilter sees what the
		// pods' bridge forwards, and nothing of the LAN's.
		for key, value := range map[string]string{"net/ipv4/ip_forward": "1", "net/bridge/bridge-nf-call-iptables": "0"} {
			err := os.WriteFile("/proc/sys/"+key, []byte(value), 0o644)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = links(path, func(h *netlink.Handle) error {
		bridge := &netlink.Bridge{LinkAttrs: named(Bridge), VlanFiltering: new(bool)}
		*bridge.VlanFiltering = true
		if err := h.LinkAdd(bridge); err != nil { // "operation not supported": this kernel cannot
			bridge = &netlink.Bridge{LinkAttrs: named(Bridge)}
			if err := h.LinkAdd(bridge); err != nil {
				return fmt.Errorf("bridge %s: %w", Bridge, err)
			}
		}
		port := named(nodeNIC)
		if err := h.LinkAdd(&netlink.Veth{LinkAttrs: port, PeerName: nodePort}); err != nil {
			return fmt.Errorf("%s: %w", nodeNIC, err)
		}
		if err := up(h, "lo", Bridge, nodeNIC, nodePort); err != nil {
			return err
		}
		if err := errors.Join(enslave(h, nodePort), assign(h, nodeNIC, address)); err != nil {
			return err
		}
		nic, err := h.LinkByName(nodeNIC)
		if err != nil {
			return err
		}
		// no host has this address, but kubelet needs a default route to know its own
		return h.RouteAdd(&netlink.Route{LinkIndex: nic.Attrs().Index, Gw: gateway.AsSlice()})
	})
	if err != nil {
		return err
	}
	// The bridge itself must not say that it has the node's address: its MAC changes with
	// the ports that come and go, and others would send to the old one.
	return InNetNS(path, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/conf/"+Bridge+"/arp_ignore", []byte("8"), 0o644)
	})
}

// Connect runs a cable between the LAN and the bridge in the network namespace at path, over which all VLANs go. It has
// that number, from 2.
func (l LAN) Connect(path string, number int) error {
	inside, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", path, err)
	}
	defer inside.Close()
	err = links(l.NetNS, func(h *netlink.Handle) error {
		cable := &netlink.Veth{LinkAttrs: named(cablePort(number)), PeerName: uplink, PeerNamespace: netlink.NsFd(int(inside))}
		if err := h.LinkAdd(cable); err != nil {
			return fmt.Errorf("cable %d: %w", number, err)
		}
		return l.trunk(h, cablePort(number))
	})
	if err != nil {
		return err
	}
	return links(path, func(h *netlink.Handle) error { return l.trunk(h, uplink) })
}

// trunk adds an interface to the bridge to the LAN as a port of all VLANs.
func (l LAN) trunk(h *netlink.Handle, name string) error {
	if err := enslave(h, name); err != nil {
		return err
	}
	filters, err := l.FiltersVLANs()
	if err != nil {
		return err
	}
	if filters { // VLAN 1 is there already, untagged
		port, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		if err := h.BridgeVlanAddRange(port, 2, 4094, false, false, false, true); err != nil {
			return fmt.Errorf("VLANs of %s: %w", name, err)
		}
	}
	return up(h, name)
}

// Route has a network namespace send what is for a network to a host of the LAN.
func Route(path string, to netip.Prefix, via netip.Addr) error {
	return links(path, func(h *netlink.Handle) error {
		destination := &net.IPNet{IP: to.Masked().Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), 32)}
		if err := h.RouteReplace(&netlink.Route{Dst: destination, Gw: via.AsSlice()}); err != nil {
			return fmt.Errorf("route to %s via %s: %w", to, via, err)
		}
		return nil
	})
}

// cablePort is the LAN's end of a cable.
func cablePort(number int) string { return fmt.Sprintf("%s%d", uplink, number) }

// Plug puts the LAN's end of a cable up, or down as if it were pulled: the other end follows.
func (l LAN) Plug(number int, in bool) error {
	return links(l.NetNS, func(h *netlink.Handle) error {
		port, err := h.LinkByName(cablePort(number))
		if err != nil {
			return err
		}
		if in {
			return h.LinkSetUp(port)
		}
		return h.LinkSetDown(port)
	})
}

// Pulled says whether a cable is there and pulled.
func (l LAN) Pulled(number int) (yes bool) {
	_ = links(l.NetNS, func(h *netlink.Handle) error {
		port, err := h.LinkByName(cablePort(number))
		yes = err == nil && port.Attrs().Flags&net.FlagUp == 0
		return err
	})
	return yes
}

// links calls f with the interfaces of the network namespace at path.
func links(path string, f func(*netlink.Handle) error) error {
	ns, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", path, err)
	}
	defer ns.Close()
	handle, err := netlink.NewHandleAt(ns)
	if err != nil {
		return err
	}
	defer handle.Close()
	return f(handle)
}
