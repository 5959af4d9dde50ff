// A lease that is renewed as often as one likes. A real client, busybox's udhcpc, takes
// it and gives the card its address; what is sent then is the message of a client in
// state RENEWING (RFC 2131, 4.3.2), since no real one can be had to send it many times
// a second: udhcpc misses answers that come within a millisecond, and asks again 2
// seconds later.

// Package lease renews a lease as often as one likes.
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

// A Client has a lease.
type Client struct {
	// Address that it was given at first.
	Address netip.Addr

	server  netip.Addr
	mac     net.HardwareAddr
	conn    net.PacketConn
	mu      sync.Mutex
	waiting map[dhcpv4.TransactionID]chan *dhcpv4.DHCPv4
}

// NewClient has udhcpc take a lease for the card ifname of the network namespace at
// path, which gets its address and routes. Its script is left in dir. The client's
// socket is open until ctx ends.
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

// read hands each answer to the renewal that it is of, until the socket is closed.
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

// Renew asks the server once to renew the lease, and gives the address that it did.
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
