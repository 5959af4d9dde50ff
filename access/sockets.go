// This file sets the options of both sockets of a tunnel, and reads their state from the kernel.

package access

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Keepalive finds peers that are gone while a tunnel is idle, and keeps the tunnel in the tables of middleboxes. A peer that
// acknowledges nothing for unansweredLimit loses its tunnel. TCP_USER_TIMEOUT would also end the tunnel of a busy or paused
// program, whose kernel acknowledges all while the program reads nothing.
const (
	keepaliveIdle     = 60 * time.Second
	keepaliveInterval = 15 * time.Second
	keepaliveProbes   = 4
	unansweredLimit   = keepaliveIdle + keepaliveProbes*keepaliveInterval
)

// tune sets the keepalive options of a socket.
func tune(c *net.TCPConn) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepaliveIdle, Interval: keepaliveInterval, Count: keepaliveProbes})
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

// tcpClose is the state of a connection that the other side has reset, or that the kernel has ended (tcp_states.h).
const tcpClose = 7

// information returns what the kernel knows about c. ok is false if c is closed.
func information(c *net.TCPConn) (i *unix.TCPInfo, ok bool) {
	err := control(c, func(fd int) (err error) {
		i, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	return i, err == nil
}

// quiet reports whether i's peer has sent no data for limit.
func quiet(i *unix.TCPInfo, limit time.Duration) bool {
	return time.Duration(i.Last_data_recv)*time.Millisecond >= limit
}

// lost reports whether i's peer has acknowledged nothing for limit: neither data that was sent since, nor two probes of its full
// window. The kernel may wait two minutes between two such probes, so the age of the last acknowledgment alone proves nothing.
func lost(i *unix.TCPInfo, limit time.Duration) bool {
	acknowledged, sent := time.Duration(i.Last_ack_recv)*time.Millisecond, time.Duration(i.Last_data_sent)*time.Millisecond
	unanswered := i.Unacked > 0 && acknowledged > sent && sent >= limit/8
	return acknowledged >= limit && (unanswered || i.Probes > 1)
}

// resetWhenKilled makes the kernel reset c if the program ends without closing c. endInOrder undoes this.
func resetWhenKilled(c *net.TCPConn) { _ = c.SetLinger(0) }
func endInOrder(c *net.TCPConn)      { _ = c.SetLinger(-1); _ = c.Close() }

// abort resets c, so that the peer does not mistake incomplete data for complete data.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
