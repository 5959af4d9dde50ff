// This file makes the kernel ask who has an address on a network. It needs no raw socket.

package device

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/socket"
)

// Solicit makes the kernel broadcast ARP requests for addresses on device, by a datagram to a port at which no process listens.
// The answers are in the kernel's neighbor table. Parameter from is the sender address, an address of this host. Where
// arp_announce is above 0, the kernel uses an address of device instead. If from is the zero Addr, the kernel chooses.
func Solicit(device string, from netip.Addr, addresses ...netip.Addr) error {
	const discard = 9
	d := socket.Dialer(device)
	// Datagrams stay on the link, whatever the routes are.
	d.Control = socket.Control(device, unix.SO_DONTROUTE)
	if from.IsValid() {
		d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	for _, a := range addresses {
		c, err := d.Dial("udp4", netip.AddrPortFrom(a, discard).String())
		if err != nil {
			return fmt.Errorf("asking who has %s: %w", a, err)
		}
		_, err = c.Write([]byte{0})
		_ = c.Close()
		if err != nil {
			return fmt.Errorf("asking who has %s: %w", a, err)
		}
	}
	return nil
}
