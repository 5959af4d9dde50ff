// Package loopback runs TCP servers of a test.
package loopback

import (
	"net"
	"testing"
)

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
