// The LAN and the nodes' way to it: bridges, cables, addresses, routes between the
// nodes' pods. Callers decide what else is plugged into the LAN.

package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

const (
	nodeNIC, nodePort = "node0", "node0p" // a node's interface on its bridge to the LAN, and the port it is on
	podBridge         = "cni0"            // of the pods of one node
	uplink            = "uplink"          // of a further node's bridge
)

// makeNetwork makes a node's bridges in its network namespace, with the node on the one
// to the LAN. That bridge filters VLANs where the kernel can. The first node's is the
// LAN itself.
func (c *Cluster) makeNetwork(n Node) error {
	err := InNetNS(n.Runtime.NetNS, func() error {
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
	err = links(n.Runtime.NetNS, func(h *netlink.Handle) error {
		bridge := &netlink.Bridge{LinkAttrs: named(LANBridge), VlanFiltering: new(bool)}
		*bridge.VlanFiltering = true
		if err := h.LinkAdd(bridge); err != nil { // "operation not supported": this kernel cannot
			bridge = &netlink.Bridge{LinkAttrs: named(LANBridge)}
			if err := h.LinkAdd(bridge); err != nil {
				return fmt.Errorf("bridge %s: %w", LANBridge, err)
			}
		}
		port := named(nodeNIC)
		if err := h.LinkAdd(&netlink.Veth{LinkAttrs: port, PeerName: nodePort}); err != nil {
			return fmt.Errorf("%s: %w", nodeNIC, err)
		}
		if err := up(h, "lo", LANBridge, nodeNIC, nodePort); err != nil {
			return err
		}
		if err := enslave(h, nodePort); err != nil {
			return err
		}
		nic, err := h.LinkByName(nodeNIC)
		if err != nil {
			return err
		}
		address, err := netlink.ParseAddr(n.IP + "/24")
		if err != nil {
			return err
		}
		if err := h.AddrAdd(nic, address); err != nil {
			return fmt.Errorf("%s on %s: %w", n.IP, nodeNIC, err)
		}
		// no host has this address, but kubelet needs a default route to know its own
		return h.RouteAdd(&netlink.Route{LinkIndex: nic.Attrs().Index, Gw: net.ParseIP(LANGateway)})
	})
	if err != nil {
		return err
	}
	// The bridge itself must not say that it has the node's address: its MAC changes with
	// the ports that come and go, and others would send to the old one.
	err = InNetNS(n.Runtime.NetNS, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/conf/"+LANBridge+"/arp_ignore", []byte("8"), 0o644)
	})
	if err != nil {
		return err
	}
	return c.makePodNetwork(n)
}

// masquerade hides pods behind their node towards everything but pods.
const masquerade = `table ip testbed {
	chain postrouting {
		type nat hook postrouting priority srcnat;
		ip saddr ` + ClusterCIDR + ` ip daddr != { ` + ClusterCIDR + `, 224.0.0.0/4 } masquerade
	}
}`

// makePodNetwork makes the bridge that the bridge plugin will find, so that kube-proxy
// sees also what one pod answers another of the same node.
func (c *Cluster) makePodNetwork(n Node) error {
	inside := []string{"--net=" + n.Runtime.NetNS}
	for _, do := range []struct {
		stdin string
		argv  []string
	}{
		{"", []string{"ip", "link", "add", podBridge, "type", "bridge", "nf_call_iptables", "1"}},
		{masquerade, []string{"nft", "-f", "-"}},
	} {
		cmd := c.enter(context.Background(), inside, do.argv[0], do.argv[1:])
		cmd.Stdin = strings.NewReader(do.stdin)
		if _, err := output(cmd); err != nil {
			return err
		}
	}
	return nil
}

// connect runs a cable between the node's bridge and the LAN, over which all VLANs
// go, and tells it and the others the way to each other's pods.
func (c *Cluster) connect(n Node, others []Node) error {
	inside, err := netns.GetFromPath(n.Runtime.NetNS)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", n.Runtime.NetNS, err)
	}
	defer inside.Close()
	err = c.inLinks(func(h *netlink.Handle) error {
		cable := &netlink.Veth{LinkAttrs: named(n.lanPort()), PeerName: uplink, PeerNamespace: netlink.NsFd(int(inside))}
		if err := h.LinkAdd(cable); err != nil {
			return fmt.Errorf("cable of %s: %w", n.Name, err)
		}
		return c.trunk(h, n.lanPort())
	})
	if err != nil {
		return err
	}
	if err := links(n.Runtime.NetNS, func(h *netlink.Handle) error { return c.trunk(h, uplink) }); err != nil {
		return err
	}
	for _, o := range others {
		if err := errors.Join(n.routeTo(o), o.routeTo(n)); err != nil {
			return err
		}
	}
	return nil
}

// trunk adds an interface to the LAN bridge as a port of all VLANs.
func (c *Cluster) trunk(h *netlink.Handle, name string) error {
	if err := enslave(h, name); err != nil {
		return err
	}
	filters, err := c.filtersVLANs()
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

// routeTo tells the node the way to another's pods.
func (n Node) routeTo(other Node) error {
	_, pods, err := net.ParseCIDR(other.PodCIDR)
	if err != nil {
		return err
	}
	return links(n.Runtime.NetNS, func(h *netlink.Handle) error {
		err := h.RouteReplace(&netlink.Route{Dst: pods, Gw: net.ParseIP(other.IP)})
		if err != nil {
			return fmt.Errorf("route of %s to the pods of %s: %w", n.Name, other.Name, err)
		}
		return nil
	})
}

// lanPort is the LAN's end of a further node's cable.
func (n Node) lanPort() string { return fmt.Sprintf("%s%d", uplink, n.number) }

// setLink puts the LAN's end of the cable up or down: the node's end follows.
func (c *Cluster) setLink(n Node, in bool) error {
	return c.inLinks(func(h *netlink.Handle) error {
		port, err := h.LinkByName(n.lanPort())
		if err != nil {
			return err
		}
		if in {
			return h.LinkSetUp(port)
		}
		return h.LinkSetDown(port)
	})
}

// pulled says whether the node's cable is: the first has none.
func (c *Cluster) pulled(n Node) (yes bool) {
	if n.number == 1 {
		return false
	}
	_ = c.inLinks(func(h *netlink.Handle) error {
		port, err := h.LinkByName(n.lanPort())
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

// inLinks is links where the LAN is.
func (c *Cluster) inLinks(f func(*netlink.Handle) error) error { return links(c.NetNS(), f) }
