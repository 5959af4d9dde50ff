// This file sends and receives frames on one interface.

package hostile

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/patience"
)

// A Port is one interface, with all frames that it receives since Open.
type Port struct {
	// Sent: Until also returns what this host itself sends on the interface.
	Sent bool

	fd  int
	mac net.HardwareAddr
}

// allFrames is ETH_P_ALL in network byte order.
const allFrames = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8

// Open opens an interface in the network namespace of the calling thread.
func Open(device string) (*Port, error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, allFrames)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: allFrames, Ifindex: i.Index}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("packet socket on %s: %w", device, err)
	}
	return &Port{fd: fd, mac: i.HardwareAddr}, nil
}

// Close closes the Port.
func (p *Port) Close() { _ = unix.Close(p.fd) }

// MAC is the interface's own.
func (p *Port) MAC() net.HardwareAddr { return p.mac }

// Send sends a packet of an Ethernet type from any MAC to another one.
func (p *Port) Send(from, to net.HardwareAddr, kind uint16, packet []byte) error {
	frame := append(append(append([]byte{}, to...), from...), byte(kind>>8), byte(kind))
	_, err := unix.Write(p.fd, append(frame, packet...))
	return err
}

// Until returns the packets that arrived, without their Ethernet headers, up to the
// first one for which stop is true. It fails if none such arrives for a minute.
func (p *Port) Until(stop func(packet []byte) bool) ([][]byte, error) {
	var out [][]byte
	frame := make([]byte, 1<<16)
	for deadline := time.Now().Add(patience.Limit); ; {
		left := time.Until(deadline).Milliseconds()
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(max(left, 0)))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return out, err
		case n == 0:
			return out, errors.New("the last packet did not arrive")
		}
		size, from, err := unix.Recvfrom(p.fd, frame, 0)
		if err != nil {
			return out, err
		}
		link, _ := from.(*unix.SockaddrLinklayer)
		if link == nil || link.Pkttype == unix.PACKET_OUTGOING && !p.Sent || size < etherHeader {
			continue
		}
		packet := append([]byte{}, frame[etherHeader:size]...)
		if stop(packet) {
			return out, nil
		}
		out = append(out, packet)
	}
}

// etherHeader is the length of an Ethernet header in bytes.
const etherHeader = 14
