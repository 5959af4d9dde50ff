// This file asks which other DHCP servers are on a network, as a client that does not exist.

package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/net/ipv4"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/edge/socket"
)

const (
	// probeInterval is how often servers are asked.
	probeInterval = time.Minute
	// probeWindow is how long answers are awaited, and maxAnswers how many are read.
	probeWindow = 3 * time.Second
	maxAnswers  = 64
)

// Probe asks for other servers until ctx ends, at once and every minute. Where the kernel
// verifies source addresses, servers outside of the network's CIDR are not heard.
func (d *DHCPServers) Probe(ctx context.Context) {
	for failed := ""; ctx.Err() == nil; {
		err := d.probe(ctx)
		if err != nil && failed != err.Error() {
			failed = err.Error()
			d.Log.Info("probe for other DHCP servers failed, retrying", "err", err)
		}
		signal.Sleep(ctx, probeInterval)
	}
}

// probe asks once. Its socket is open only during the probe.
func (d *DHCPServers) probe(ctx context.Context) error {
	conn, err := socket.ListenPacket(ctx, d.Device, netip.AddrPortFrom(netip.IPv4Unspecified(), dhcpv4.ClientPort))
	if err != nil {
		return fmt.Errorf("probe for DHCP servers: %w", err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	id, err := dhcpv4.GenerateTransactionID()
	if err != nil {
		return fmt.Errorf("probe for DHCP servers: %w", err)
	}
	question, err := dhcp.Probe(id)
	if err != nil {
		return fmt.Errorf("probe for DHCP servers: %w", err)
	}
	// A question from another address of the edge would move VMs.
	from := &ipv4.ControlMessage{Src: d.View().Edge.Address.AsSlice()}
	everyone := netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), dhcpv4.ServerPort)
	if _, err := ipv4.NewPacketConn(conn).WriteTo(question, from, net.UDPAddrFromAddrPort(everyone)); err != nil {
		return fmt.Errorf("probe for DHCP servers: %w", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(probeWindow))
	packet := make([]byte, 1500)
	for range maxAnswers {
		size, server, err := conn.ReadFromUDPAddrPort(packet)
		switch {
		case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return fmt.Errorf("probe for DHCP servers: %w", err)
		case dhcp.AnswersProbe(packet[:size], id):
			d.Chose("", server.Addr().Unmap())
		}
	}
	return nil
}
