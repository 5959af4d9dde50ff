// This file decides how many TCP connections a client may hold, so that one
// machine's leave others theirs. It never looks at what is sent on them.

package dns

import (
	"net"
	"net/netip"
	"sync"
)

const (
	// maxConnections of all clients together; each is a file descriptor.
	maxConnections = 2000
	// maxConnectionsEach of one client address.
	maxConnectionsEach = 100
)

// limited is a listener that closes at once what is above the limits.
type limited struct {
	net.Listener
	mu   sync.Mutex
	all  int
	each map[netip.Addr]int
}

func newLimited(l net.Listener) *limited {
	return &limited{Listener: l, each: map[netip.Addr]int{}}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var from netip.Addr
		if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
			from = a.AddrPort().Addr().Unmap()
		}
		if l.take(from) {
			return &limitedConn{Conn: c, free: sync.OnceFunc(func() { l.free(from) })}, nil
		}
		c.Close()
	}
}

func (l *limited) take(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxConnections || l.each[from] >= maxConnectionsEach {
		return false
	}
	l.all++
	l.each[from]++
	return true
}

func (l *limited) free(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.each[from]--; l.each[from] == 0 {
		delete(l.each, from)
	}
}

type limitedConn struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.free()
	return c.Conn.Close()
}
