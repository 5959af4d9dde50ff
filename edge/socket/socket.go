// Package socket opens sockets that are bound to a device (SO_BINDTODEVICE, which needs no privilege), unless the caller names
// no device. All other sockets of an edge are Unix sockets.
//
// Linux uses the weak host model: without the binding, a VM that routes through an edge could reach sockets on the
// pod's other addresses. An edge must not serve if the kernel would forward packets in its network namespace; see
// package device.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Control returns a function for net.Dialer and net.ListenConfig that binds a socket to device and sets options to 1. It
// returns nil if device is empty.
func Control(device string, options ...int) func(network, address string, c syscall.RawConn) error {
	if device == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		err := Descriptor(c, func(fd int) error {
			err := unix.BindToDevice(fd, device)
			for _, o := range options {
				if err == nil {
					err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, o, 1)
				}
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("bind socket to %s: %w", device, err)
		}
		return nil
	}
}

// Descriptor calls f with the descriptor of c.
func Descriptor(c syscall.RawConn, f func(fd int) error) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}

// DescriptorOf calls f with the descriptor of c.
func DescriptorOf(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return Descriptor(raw, f)
}

// Dialer returns a dialer that uses device only.
func Dialer(device string) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: Control(device)}
}

// DialFrom connects through device to an IPv4 address (parameter to), from an address of device (parameter from). The kernel
// chooses the port when it connects: connections to different hosts may have the same one.
func DialFrom(ctx context.Context, device string, from netip.Addr, to netip.AddrPort) (*net.TCPConn, error) {
	bind := Control(device)
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Control: func(network, address string, c syscall.RawConn) error {
		if bind != nil {
			if err := bind(network, address, c); err != nil {
				return err
			}
		}
		return Descriptor(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) })
	}}
	c, err := d.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// Listen listens on TCP at addr, for connections that arrive on device only.
func Listen(ctx context.Context, device string, addr netip.AddrPort) (net.Listener, error) {
	c := net.ListenConfig{Control: Control(device)}
	return c.Listen(ctx, "tcp4", addr.String())
}

// ListenPacket receives UDP at addr, for packets that arrive on device only.
func ListenPacket(ctx context.Context, device string, addr netip.AddrPort) (*net.UDPConn, error) {
	c := net.ListenConfig{Control: Control(device)}
	p, err := c.ListenPacket(ctx, "udp4", addr.String())
	if err != nil {
		return nil, err
	}
	return p.(*net.UDPConn), nil
}

// ListenPackets receives UDP at several addresses that have one port, for packets that arrive on device only. Sockets with
// equal addresses each receive all broadcasts. No other socket can have these addresses later.
func ListenPackets(ctx context.Context, device string, at ...netip.AddrPort) (conns []*net.UDPConn, err error) {
	defer func() {
		if err != nil {
			for _, c := range conns {
				_ = c.Close()
			}
			conns = nil
		}
	}()
	shared := net.ListenConfig{Control: Control(device, unix.SO_REUSEADDR)}
	for _, a := range at {
		p, err := shared.ListenPacket(ctx, "udp4", a.String())
		if err != nil {
			return conns, err
		}
		conns = append(conns, p.(*net.UDPConn))
	}
	for _, c := range conns {
		if err := unshare(c); err != nil {
			return conns, fmt.Errorf("socket on %s: %w", c.LocalAddr(), err)
		}
	}
	return conns, nil
}

// unshare prevents other sockets from binding the address of c.
func unshare(c *net.UDPConn) error {
	return DescriptorOf(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 0) })
}
