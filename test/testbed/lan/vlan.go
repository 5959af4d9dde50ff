// This file creates access ports for the LAN's VLANs.

package lan

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os/exec"
	"strconv"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/cldmnky/oooi/test/testbed/host"
)

// FiltersVLANs reports whether the LAN's bridge itself filters VLANs.
func (l LAN) FiltersVLANs() (yes bool, err error) {
	err = links(l.NetNS, func(n *netlink.Handle) error {
		link, err := n.LinkByName(Bridge)
		if err != nil {
			return err
		}
		bridge, ok := link.(*netlink.Bridge)
		yes = ok && bridge.VlanFiltering != nil && *bridge.VlanFiltering
		return nil
	})
	return yes, err
}

// PlugVLAN creates interface ifname in the network namespace at path. The other end is an access port of the LAN for vlan, 1 to
// 4094; 0 means untagged. The interface is up, without addresses. If mac is nil, the kernel chooses the MAC.
func (l LAN) PlugVLAN(ctx context.Context, path, ifname string, vlan int, mac net.HardwareAddr) error {
	target, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", path, err)
	}
	defer target.Close()
	port := portName(path, ifname)
	err = links(l.NetNS, func(n *netlink.Handle) error {
		attrs := named(port)
		veth := &netlink.Veth{LinkAttrs: attrs, PeerName: ifname, PeerHardwareAddr: mac, PeerNamespace: netlink.NsFd(int(target))}
		if err := n.LinkAdd(veth); err != nil {
			return fmt.Errorf("%s into %s: %w", ifname, path, err)
		}
		return enslave(n, port)
	})
	if err != nil {
		return err
	}
	if err := l.accessPort(ctx, port, vlan); err != nil {
		return errors.Join(err, links(l.NetNS, func(n *netlink.Handle) error {
			return n.LinkDel(&netlink.Dummy{LinkAttrs: named(port)})
		}))
	}
	// The port is set up last, so that no packet is sent untagged.
	if err := links(l.NetNS, func(n *netlink.Handle) error { return up(n, port) }); err != nil {
		return err
	}
	inside, err := netlink.NewHandleAt(target)
	if err != nil {
		return err
	}
	defer inside.Close()
	return up(inside, ifname)
}

// ConnectVLAN connects a VLAN of l with the same VLAN of another LAN, so that hosts on both are on one layer-2 network. All other
// VLANs stay separate.
func (l LAN) ConnectVLAN(ctx context.Context, other LAN, vlan int) error {
	port := jointPort(vlan)
	if err := l.PlugVLAN(ctx, other.NetNS, port, vlan, nil); err != nil {
		return err
	}
	if err := other.set(port, false); err != nil { // until it is an access port
		return err
	}
	if err := links(other.NetNS, func(h *netlink.Handle) error { return enslave(h, port) }); err != nil {
		return err
	}
	if err := other.accessPort(ctx, port, vlan); err != nil {
		return err
	}
	return other.set(port, true)
}

// JoinVLAN sets the port that ConnectVLAN has added to the other LAN up or, if in is false, down.
func (l LAN) JoinVLAN(vlan int, in bool) error { return l.set(jointPort(vlan), in) }

// jointPort returns the name of the port to another LAN.
func jointPort(vlan int) string { return fmt.Sprintf("joint%d", vlan) }

// accessPort makes port an access port: packets that enter the bridge there are tagged with vlan, and only packets of this VLAN
// leave the bridge there, untagged.
func (l LAN) accessPort(ctx context.Context, port string, vlan int) error {
	if vlan == 0 {
		return nil
	}
	filters, err := l.FiltersVLANs()
	if err != nil {
		return err
	}
	if !filters {
		_, err := host.Output(exec.CommandContext(ctx, "nsenter", "--net="+l.NetNS, "--", l.Plugin, "access-port", port, strconv.Itoa(vlan)))
		return err
	}
	return links(l.NetNS, func(n *netlink.Handle) error {
		link, err := n.LinkByName(port)
		if err != nil {
			return err
		}
		const defaultVLAN = 1
		if vlan != defaultVLAN {
			if err := n.BridgeVlanDel(link, defaultVLAN, true, true, false, true); err != nil {
				return err
			}
		}
		return n.BridgeVlanAdd(link, uint16(vlan), true, true, false, true)
	})
}

// portName returns the name of the bridge port for an interface, with at most 15 bytes. It is always the same for this interface,
// so that a second PlugVLAN fails.
func portName(path, ifname string) string {
	h := fnv.New64a()
	fmt.Fprint(h, path, " ", ifname)
	return fmt.Sprintf("p%012x", h.Sum64()&0xffffffffffff)
}

func named(name string) netlink.LinkAttrs {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	return attrs
}

func up(n *netlink.Handle, names ...string) error {
	for _, name := range names {
		link, err := n.LinkByName(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := n.LinkSetUp(link); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func enslave(n *netlink.Handle, name string) error {
	port, err := n.LinkByName(name)
	if err != nil {
		return err
	}
	bridge, err := n.LinkByName(Bridge)
	if err != nil {
		return err
	}
	return n.LinkSetMaster(port, bridge)
}
