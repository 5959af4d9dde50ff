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
	question, err := dhcpv4.NewDiscovery(mac, dhcpv4.WithBroadcast(true))
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
	var servers []netip.Addr
	for packet := make([]byte, 1500); ; {
		n, _, err := conn.ReadFrom(packet)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			slices.SortFunc(servers, netip.Addr.Compare)
			return slices.Compact(servers), nil
		}
		if err != nil {
			return nil, err
		}
		answer, err := dhcpv4.FromBytes(packet[:n])
		if err != nil || answer.TransactionID != question.TransactionID || answer.MessageType() != dhcpv4.MessageTypeOffer {
			continue
		}
		if server, ok := netip.AddrFromSlice(answer.ServerIdentifier().To4()); ok {
			servers = append(servers, server)
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
