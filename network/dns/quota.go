// This file limits how many connections and upstream questions one client may hold, so
// that the flood of one VM leaves the others their share.

package dns

import (
	"net"
	"net/netip"
	"sync"
)

// A quota counts what clients hold, with a limit in total and one for each address.
type quota struct {
	mu        sync.Mutex
	all, most int
	each      map[netip.Addr]int
	mostEach  int
}

func newQuota(most, mostEach int) *quota {
	return &quota{most: most, mostEach: mostEach, each: map[netip.Addr]int{}}
}

// take returns false at a limit; otherwise the caller calls free once.
func (q *quota) take(client netip.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all >= q.most || q.each[client] >= q.mostEach {
		return false
	}
	q.all++
	q.each[client]++
	return true
}

func (q *quota) free(client netip.Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all--
	if q.each[client]--; q.each[client] == 0 {
		delete(q.each, client)
	}
}

// clientOf returns the remote address of a socket, zero if it has none.
func clientOf(a net.Addr) netip.Addr {
	switch a := a.(type) {
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap()
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// limited is a listener that closes connections above a quota at once.
type limited struct {
	net.Listener
	connections *quota
}

// Accept implements net.Listener.
func (l limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(c.RemoteAddr())
		if l.connections.take(client) {
			return &limitedConn{Conn: c, free: sync.OnceFunc(func() { l.connections.free(client) })}, nil
		}
		c.Close()
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
