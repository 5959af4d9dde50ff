// This file creates the LAN and cables to it: bridges, ports and routes.

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

// A LAN is a bridge that replaces a physical network with tagged VLANs.
type LAN struct {
	NetNS  string // path of the network namespace with the bridge
	Plugin string // path of the CNI plugin bridgevlan, which creates access ports if the kernel's bridges do not support VLANs
}

// Bridge is the name of the bridge to the LAN, in each network namespace with such a bridge.
const Bridge = "lan0"

const (
	nodeNIC, nodePort = "node0", "node0p" // interface of a node on its bridge to the LAN, and the port of that interface
	uplink            = "uplink"          // port of a bridge for a cable to the LAN
)

// NewBridge creates a bridge to the LAN in the network namespace at path, and an interface with this address on it. The bridge
// filters VLANs if the kernel supports that. gateway is that of the default route. It need not exist.
func NewBridge(path string, address netip.Prefix, gateway netip.Addr) error {
	err := InNetNS(path, func() error {
		// The node routes between its pods and the LAN. Netfilter rules apply to what the bridge of pods forwards, but not to what
		// the bridge to the LAN forwards.
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
		// No host has this address, but kubelet finds its own address by the default route.
		return h.RouteAdd(&netlink.Route{LinkIndex: nic.Attrs().Index, Gw: gateway.AsSlice()})
	})
	if err != nil {
		return err
	}
	// The bridge itself must not answer ARP for the node's address: its MAC changes when ports are added or removed, and other
	// hosts would send to the old MAC.
	return InNetNS(path, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/conf/"+Bridge+"/arp_ignore", []byte("8"), 0o644)
	})
}

// Connect connects the bridge in the network namespace at path to the LAN, with a cable for all VLANs. number is that of the
// cable, from 2.
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

// trunk adds an interface to the bridge to the LAN as a port for all VLANs.
func (l LAN) trunk(h *netlink.Handle, name string) error {
	if err := enslave(h, name); err != nil {
		return err
	}
	filters, err := l.FiltersVLANs()
	if err != nil {
		return err
	}
	if filters { // The port already has VLAN 1, untagged.
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

// Route adds a route in the network namespace at path: to the network to through the host via.
func Route(path string, to netip.Prefix, via netip.Addr) error {
	return links(path, func(h *netlink.Handle) error {
		destination := &net.IPNet{IP: to.Masked().Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), 32)}
		if err := h.RouteReplace(&netlink.Route{Dst: destination, Gw: via.AsSlice()}); err != nil {
			return fmt.Errorf("route to %s via %s: %w", to, via, err)
		}
		return nil
	})
}

// cablePort returns the name of the port of the LAN that a cable is connected to.
func cablePort(number int) string { return fmt.Sprintf("%s%d", uplink, number) }

// Plug sets the LAN's port of a cable up or, if in is false, down. The other end of the cable follows.
func (l LAN) Plug(number int, in bool) error { return l.set(cablePort(number), in) }

// set sets a port of the LAN up or, if in is false, down.
func (l LAN) set(name string, in bool) error {
	return links(l.NetNS, func(h *netlink.Handle) error {
		port, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		if in {
			return h.LinkSetUp(port)
		}
		return h.LinkSetDown(port)
	})
}

// Pulled reports whether a cable exists and its port is down.
func (l LAN) Pulled(number int) (yes bool) {
	_ = links(l.NetNS, func(h *netlink.Handle) error {
		port, err := h.LinkByName(cablePort(number))
		yes = err == nil && port.Attrs().Flags&net.FlagUp == 0
		return err
	})
	return yes
}

// links calls f with a netlink handle for the network namespace at path.
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
