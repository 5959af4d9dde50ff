// Package loopback runs TCP servers of a test.
package loopback

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// Reserve returns an address on the loopback interface. A listener can have it, leave it and have it again: until the test
// ends, the kernel gives its port to no other socket.
func Reserve(t testing.TB) netip.AddrPort {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	must(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)) // Listeners set it, too.
	must(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := unix.Getsockname(fd)
	must(err)
	at := name.(*unix.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port))
}

// Serve accepts connections on the loopback interface until the test ends, and returns its address and port. Each
// connection is closed once handle has returned.
func Serve(t testing.TB, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go Accept(l, func(c net.Conn) { handle(c.(*net.TCPConn)) })
	return l.Addr().String()
}

// Accept passes each connection of l to handle, and closes it after that. It returns once l is closed.
func Accept(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			handle(c)
		}()
	}
}
