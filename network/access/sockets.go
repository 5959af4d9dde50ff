// This file sets the options of both sockets of a tunnel, and asks the kernel about them.

package access

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Keepalive finds peers that are gone, and keeps idle tunnels in the tables of middleboxes. A peer that acknowledges nothing for
// unansweredLimit loses its tunnel, idle or with data in flight. These are the values of connections through Envoy.
const (
	keepaliveIdle     = 60 * time.Second
	keepaliveInterval = 15 * time.Second
	keepaliveProbes   = 4
	unansweredLimit   = keepaliveIdle + keepaliveProbes*keepaliveInterval
)

// tune sets the options of a socket. The kernel refuses none of them.
func tune(c *net.TCPConn) error {
	if err := c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepaliveIdle, Interval: keepaliveInterval, Count: keepaliveProbes}); err != nil {
		return err
	}
	return control(c, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unansweredLimit/time.Millisecond))
	})
}

// control calls f with the descriptor of c.
func control(c *net.TCPConn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// tcpClose is the state of a connection that the other side has reset, or that the kernel has given up (tcp_states.h).
const tcpClose = 7

// information returns what the kernel knows of c. Not ok: c is closed.
func information(c *net.TCPConn) (i *unix.TCPInfo, ok bool) {
	err := control(c, func(fd int) (err error) {
		i, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	return i, err == nil
}

// quietFor returns for how long c has received no data. Not ok: it is closed.
func quietFor(c *net.TCPConn) (time.Duration, bool) {
	i, ok := information(c)
	if !ok {
		return 0, false
	}
	return time.Duration(i.Last_data_recv) * time.Millisecond, true
}

// resetWhenKilled has the kernel reset c if the program ends without closing it, and endInOrder closes c after all.
func resetWhenKilled(c *net.TCPConn) { _ = c.SetLinger(0) }
func endInOrder(c *net.TCPConn)      { _ = c.SetLinger(-1); _ = c.Close() }

// abort closes c at once. The peer gets a reset, so it cannot take what it has read for the whole.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
