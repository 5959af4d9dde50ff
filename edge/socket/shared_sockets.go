// This file opens several UDP sockets with one address, which no other process can join.

package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// sharedBuffer is the receive buffer of each socket in bytes. The kernel doubles it, and counts it as the container's memory.
const sharedBuffer = 208 << 10

// Shared are UDP sockets with one address. The kernel gives each packet to one of them, so their buffers add up.
type Shared struct {
	Conns []*net.UDPConn
	// Unprotected is why another process of the same user can join the sockets. Nil: no process can.
	Unprotected error
	lock        *os.File
}

// Close closes all sockets.
func (s Shared) Close() {
	for _, c := range s.Conns {
		_ = c.Close()
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// ListenShared receives UDP at addr with several sockets, for packets that arrive on device only.
//
// The kernel lets each process of the same user join several sockets with one address, and take a part of their packets. The
// process may be in another container of the pod. So one more socket, the lock, is bound to the address last, while all
// sockets permit this (SO_REUSEADDR). Afterwards no socket permits it: the kernel compares a new socket with the lock. The
// lock is an IPv6 socket. It receives nothing, since the kernel prefers IPv4 sockets for IPv4. On a node without IPv6, other
// processes can join. An address that another process has is an error.
func ListenShared(ctx context.Context, device string, addr netip.AddrPort, count int) (s Shared, err error) {
	defer func() {
		if err != nil {
			s.Close()
			s = Shared{}
		}
	}()
	c := net.ListenConfig{Control: Control(device, unix.SO_REUSEPORT, unix.SO_REUSEADDR)}
	for range count {
		p, err := c.ListenPacket(ctx, "udp4", addr.String())
		if err != nil {
			return s, err
		}
		conn := p.(*net.UDPConn)
		_ = conn.SetReadBuffer(sharedBuffer) // The kernel grants at most net.core.rmem_max.
		s.Conns = append(s.Conns, conn)
	}
	s.lock, s.Unprotected = lockAddress(device, addr)
	if errors.Is(s.Unprotected, unix.EADDRINUSE) {
		return s, s.Unprotected
	}
	for _, c := range s.Conns {
		if err := unshare(c); err != nil {
			return s, fmt.Errorf("socket on %s: %w", addr, err)
		}
	}
	return s, nil
}

// lockAddress binds the lock, a socket that receives nothing, to addr. See ListenShared.
func lockAddress(device string, addr netip.AddrPort) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", addr, err)
	}
	lock := os.NewFile(uintptr(fd), "lock of "+addr.String())
	err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()})
	}
	if err == nil && device != "" {
		// This must come last. Once bound to a device, an IPv6 socket can have the addresses of that device only, and the VIPs may
		// be on another one.
		err = unix.BindToDevice(fd, device)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 0)
	}
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("lock %s: %w", addr, err)
	}
	return lock, nil
}
