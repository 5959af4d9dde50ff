// This file attaches a router to a VLAN, and a host to the router. The host is a client that is not on the VLAN.

package lan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// RouterInterface is a router's interface on its VLAN.
const RouterInterface = "vlan0"

const routerInside, hostInterface = "inside0", "eth0"

// A Router forwards packets between a VLAN and one host behind the router, without NAT. The host is two hops from hosts on the
// VLAN.
type Router struct {
	// NetNS and HostNetNS are the paths of the network namespaces of the router and of the host.
	NetNS, HostNetNS string
	// Address is that of the router on the VLAN, and Host that of the host.
	Address, Host netip.Addr
}

// PlugRouter attaches a router with this address and prefix length to a VLAN, and a host to the router. The router also has the
// first address of the host's network. The network namespaces are called name and name.host. PlugRouter first removes a router
// with the same name.
func (l LAN) PlugRouter(ctx context.Context, name string, vlan int, address, host netip.Prefix) (Router, error) {
	if err := UnplugRouter(name); err != nil {
		return Router{}, err
	}
	r := Router{
		NetNS: NetNSPath(name), HostNetNS: NetNSPath(name + ".host"),
		Address: address.Addr(), Host: host.Addr(),
	}
	for _, n := range []string{name, name + ".host"} {
		if err := NewNetNS(n); err != nil {
			return Router{}, err
		}
	}
	if err := l.PlugVLAN(ctx, r.NetNS, RouterInterface, vlan, nil); err != nil {
		return Router{}, err
	}
	if err := r.connect(address, host); err != nil {
		return Router{}, fmt.Errorf("router %s: %w", name, err)
	}
	return r, nil
}

// connect assigns the addresses of the router and the host, and enables forwarding.
func (r Router) connect(address, host netip.Prefix) error {
	first := netip.PrefixFrom(host.Masked().Addr().Next(), host.Bits())
	if err := Cable(End{r.NetNS, routerInside, []netip.Prefix{first}}, End{r.HostNetNS, hostInterface, []netip.Prefix{host}}); err != nil {
		return err
	}
	err := links(r.NetNS, func(h *netlink.Handle) error { return errors.Join(up(h, "lo"), assign(h, RouterInterface, address)) })
	if err != nil {
		return err
	}
	err = links(r.HostNetNS, func(h *netlink.Handle) error {
		return errors.Join(up(h, "lo"), h.RouteAdd(&netlink.Route{Gw: first.Addr().AsSlice()}))
	})
	if err != nil {
		return err
	}
	return InNetNS(r.NetNS, func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644) })
}

// UnplugRouter removes a router and the host behind it. If there is no router with this name, it does nothing.
func UnplugRouter(name string) error {
	if _, err := os.Stat(NetNSPath(name)); err == nil {
		// The kernel removes a namespace some time after its name. Delete the interface, so that its port is free immediately.
		_ = links(NetNSPath(name), func(h *netlink.Handle) error { return h.LinkDel(&netlink.Dummy{LinkAttrs: named(RouterInterface)}) })
	}
	return errors.Join(DeleteNetNS(name), DeleteNetNS(name+".host"))
}

// An End of a cable is an interface in the network namespace at NetNS, with its addresses.
type End struct {
	NetNS, Interface string
	Addresses        []netip.Prefix
}

// Cable connects two network namespaces. It creates both interfaces, and sets them up.
func Cable(a, b End) error {
	other, err := netns.GetFromPath(b.NetNS)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", b.NetNS, err)
	}
	defer other.Close()
	err = links(a.NetNS, func(h *netlink.Handle) error {
		return h.LinkAdd(&netlink.Veth{LinkAttrs: named(a.Interface), PeerName: b.Interface, PeerNamespace: netlink.NsFd(int(other))})
	})
	if err != nil {
		return fmt.Errorf("cable from %s to %s: %w", a.NetNS, b.NetNS, err)
	}
	for _, end := range []End{a, b} {
		err := links(end.NetNS, func(h *netlink.Handle) error {
			err := up(h, end.Interface)
			for _, address := range end.Addresses {
				err = errors.Join(err, assign(h, end.Interface, address))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func assign(h *netlink.Handle, name string, address netip.Prefix) error {
	link, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	network := &net.IPNet{IP: address.Addr().AsSlice(), Mask: net.CIDRMask(address.Bits(), 32)}
	if err := h.AddrAdd(link, &netlink.Addr{IPNet: network}); err != nil {
		return fmt.Errorf("%s on %s: %w", address, name, err)
	}
	return nil
}
