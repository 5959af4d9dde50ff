// This file limits the connections of a server. Each needs memory, also one that sends nothing.

package callers

import (
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// A Listener closes connections above the limits immediately, so that none waits behind them.
type Listener struct {
	net.Listener
	// Of has the connections, each of which takes 1.
	Of *Pool
	// Refused is called for each connection that is closed. Nil: nothing is.
	Refused func()
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		s := l.Of.Share(c.RemoteAddr().String())
		if s.Take(1) {
			return &limitedConn{c, s}, nil
		}
		s.Release()
		_ = c.Close()
		if l.Refused != nil {
			l.Refused()
		}
	}
}

// A limitedConn is released when it is closed.
type limitedConn struct {
	net.Conn
	*Share
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.Release()
	return c.Conn.Close()
}

const (
	// headers is the limit of a request's headers, in bytes.
	headers = 8 << 10
	// request is how long a caller may take to send its request, and answer to read the answer as well.
	request, answer = 10 * time.Second, 30 * time.Second
)

// NewServer returns a server of probes and metrics over HTTP, and its listener, with a limit of connections. So one address has
// at most half as many requests in progress. It logs no failed connection: callers decide how often there is one.
func NewServer(h http.Handler, l net.Listener, connections int64) (*http.Server, net.Listener) {
	return &http.Server{
		Handler: h, MaxHeaderBytes: headers, ReadTimeout: request, WriteTimeout: answer, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0),
	}, &Listener{Listener: l, Of: NewPool(connections, 0)}
}
