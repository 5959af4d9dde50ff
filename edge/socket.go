// This file opens sockets that are bound to a device. It never opens one that is
// not, except where the caller names no device.

package edge

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Control binds a socket to device before it is bound or connected, and sets
// these socket options to 1, for net.Dialer and net.ListenConfig. Nil where device
// is empty.
func Control(device string, options ...int) func(network, address string, c syscall.RawConn) error {
	if device == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			set = unix.BindToDevice(int(fd), device)
			for _, o := range options {
				if set == nil {
					set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, o, 1)
				}
			}
		})
		if err != nil {
			return err
		}
		if set != nil {
			return fmt.Errorf("bind socket to %s: %w", device, set)
		}
		return nil
	}
}

// Dialer dials by device only.
func Dialer(device string) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: Control(device)}
}

// Listen listens on TCP at addr, for what comes in by device only.
func Listen(ctx context.Context, device string, addr netip.AddrPort) (net.Listener, error) {
	c := net.ListenConfig{Control: Control(device)}
	return c.Listen(ctx, "tcp4", addr.String())
}

// ListenPacket receives UDP at addr, from what comes in by device only.
func ListenPacket(ctx context.Context, device string, addr netip.AddrPort) (*net.UDPConn, error) {
	c := net.ListenConfig{Control: Control(device)}
	p, err := c.ListenPacket(ctx, "udp4", addr.String())
	if err != nil {
		return nil, err
	}
	return p.(*net.UDPConn), nil
}
