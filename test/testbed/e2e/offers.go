// This file finds the DHCP servers on a network that would serve a VM. It accepts no offer, and so gets no lease.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/testbed/lan"
)

// Offers sends a DHCPDISCOVER for mac from interface ifname in the network namespace at path. It returns the server identifiers of
// all servers that send an offer within patience, sorted.
func Offers(ctx context.Context, path, ifname string, mac net.HardwareAddr, patience time.Duration) ([]netip.Addr, error) {
	return offers(ctx, path, ifname, mac, patience, (*dhcpv4.DHCPv4).ServerIdentifier)
}

// Offered does the same as Offers, but requests the address wanted, and returns the addresses that servers offer.
func Offered(ctx context.Context, path, ifname string, mac net.HardwareAddr, wanted netip.Addr, patience time.Duration) ([]netip.Addr, error) {
	offered := func(answer *dhcpv4.DHCPv4) net.IP { return answer.YourIPAddr }
	return offers(ctx, path, ifname, mac, patience, offered, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(wanted.AsSlice())))
}

// offers returns an address of each offer, sorted.
func offers(ctx context.Context, path, ifname string, mac net.HardwareAddr, patience time.Duration, of func(*dhcpv4.DHCPv4) net.IP, more ...dhcpv4.Modifier) ([]netip.Addr, error) {
	question, err := dhcpv4.NewDiscovery(mac, append(more, dhcpv4.WithBroadcast(true))...)
	if err != nil {
		return nil, err
	}
	var conn net.PacketConn
	err = lan.InNetNS(path, func() (err error) {
		conn, err = listenAsClient(ctx, ifname)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", ifname, path, err)
	}
	defer conn.Close()
	if _, err := conn.WriteTo(question.ToBytes(), &net.UDPAddr{IP: net.IPv4bcast, Port: dhcpv4.ServerPort}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	until, _ := ctx.Deadline()
	if err := conn.SetReadDeadline(until); err != nil {
		return nil, err
	}
	var found []netip.Addr
	for packet := make([]byte, 1500); ; {
		n, _, err := conn.ReadFrom(packet)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			slices.SortFunc(found, netip.Addr.Compare)
			return slices.Compact(found), nil
		}
		if err != nil {
			return nil, err
		}
		answer, err := dhcpv4.FromBytes(packet[:n])
		if err != nil || answer.TransactionID != question.TransactionID || answer.MessageType() != dhcpv4.MessageTypeOffer {
			continue
		}
		if address, ok := netip.AddrFromSlice(of(answer).To4()); ok {
			found = append(found, address)
		}
	}
}

// listenAsClient listens for broadcasts to DHCP's client port on an interface, even if a DHCP client already runs there.
func listenAsClient(ctx context.Context, ifname string) (net.PacketConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = errors.Join(
				unix.BindToDevice(int(fd), ifname),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1))
		})
		return errors.Join(err, failed)
	}}
	return config.ListenPacket(ctx, "udp4", fmt.Sprintf("0.0.0.0:%d", dhcpv4.ClientPort))
}
