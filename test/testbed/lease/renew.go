// This file gets a lease with a real client, busybox's udhcpc. Then it renews the lease itself, with the message of a client in
// state RENEWING (RFC 2131, section 4.3.2). Real clients cannot renew many times a second: udhcpc misses answers that arrive within
// a millisecond, and sends again only 2 seconds later.

// Package lease renews a DHCP lease at any rate.
package lease

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/test/testbed/lan"
)

//go:embed renew.sh
var renewScript []byte

// A Client is a DHCP client with a lease.
type Client struct {
	// Address is the address of the first lease.
	Address netip.Addr

	server  netip.Addr
	mac     net.HardwareAddr
	conn    net.PacketConn
	mu      sync.Mutex
	waiting map[dhcpv4.TransactionID]chan *dhcpv4.DHCPv4
}

// NewClient runs udhcpc to get a lease for interface ifname in the network namespace at path. The interface gets the address and
// the routes. The script of udhcpc stays in dir. The Client works until ctx ends.
func NewClient(ctx context.Context, path, ifname, dir string) (*Client, error) {
	script := filepath.Join(dir, "renew.sh")
	if err := os.WriteFile(script, renewScript, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "nsenter", "--net="+path, "--", "udhcpc", "-f", "-q", "-n", "-t", "60", "-T", "1", "-i", ifname, "-s", script, "-O", "staticroutes")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("udhcpc: %w: %s", err, out)
	}
	c := &Client{waiting: map[dhcpv4.TransactionID]chan *dhcpv4.DHCPv4{}}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) == 3 && f[0] == "bound" {
			c.Address, err = netip.ParseAddr(f[1])
			if err == nil {
				c.server, err = netip.ParseAddr(f[2])
			}
		}
	}
	if err != nil || !c.Address.IsValid() || !c.server.IsValid() {
		return nil, fmt.Errorf("udhcpc has no lease: %w: %s", err, out)
	}
	err = lan.InNetNS(path, func() error {
		card, err := net.InterfaceByName(ifname)
		if err != nil {
			return err
		}
		c.mac = card.HardwareAddr
		c.conn, err = net.ListenPacket("udp4", netip.AddrPortFrom(c.Address, dhcpv4.ClientPort).String())
		return err
	})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { c.conn.Close() })
	go c.read()
	return c, nil
}

// read passes each answer to its renewal, until the socket is closed.
func (c *Client) read() {
	for packet := make([]byte, 1500); ; {
		n, _, err := c.conn.ReadFrom(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP refusal
		}
		answer, err := dhcpv4.FromBytes(packet[:n])
		if err != nil {
			continue
		}
		c.mu.Lock()
		if to, ok := c.waiting[answer.TransactionID]; ok {
			select {
			case to <- answer:
			default: // it has one
			}
		}
		c.mu.Unlock()
	}
}

var errRefused = errors.New("NAK")

// Renew sends one request to renew the lease, and returns the address in the answer.
func (c *Client) Renew(ctx context.Context) (netip.Addr, error) {
	request, err := dhcpv4.New(dhcpv4.WithMessageType(dhcpv4.MessageTypeRequest), dhcpv4.WithHwAddr(c.mac),
		dhcpv4.WithClientIP(c.Address.AsSlice()), dhcpv4.WithRequestedOptions(dhcpv4.OptionSubnetMask, dhcpv4.OptionClasslessStaticRoute))
	if err != nil {
		return netip.Addr{}, err
	}
	answered := make(chan *dhcpv4.DHCPv4, 1)
	c.mu.Lock()
	c.waiting[request.TransactionID] = answered
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, request.TransactionID)
		c.mu.Unlock()
	}()
	if _, err := c.conn.WriteTo(request.ToBytes(), net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.server, dhcpv4.ServerPort))); err != nil {
		return netip.Addr{}, err
	}
	select {
	case <-ctx.Done():
		return netip.Addr{}, ctx.Err()
	case answer := <-answered:
		address, ok := netip.AddrFromSlice(answer.YourIPAddr.To4())
		if answer.MessageType() != dhcpv4.MessageTypeAck || !ok {
			return netip.Addr{}, errRefused
		}
		return address, nil
	}
}
