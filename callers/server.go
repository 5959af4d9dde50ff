// This file limits the connections of a server: each needs memory, also one that sends nothing.

package callers

import (
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A Listener closes connections above the limits immediately, so that none waits. If all connections are in use, an address
// with fewer connections still gets one: the address with the most connections loses its oldest.
type Listener struct {
	net.Listener
	// Of is the pool of connections. Each connection takes 1.
	Of *Pool
	// Refused, if set, is called for each connection that is closed.
	Refused func()

	mu   sync.Mutex
	open []*limitedConn // the oldest first
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		s := l.Of.Share(c.RemoteAddr().String())
		limited := &limitedConn{c, s, s.caller, l}
		took := s.Take(1)
		for !took && l.evict(s) {
			took = s.Take(1)
		}
		if took {
			l.mu.Lock()
			l.open = append(l.open, limited)
			l.mu.Unlock()
			return limited, nil
		}
		l.refuse(limited)
	}
}

// evict closes the oldest connection of the richest caller. False: there is none.
func (l *Listener) evict(s *Share) bool {
	most := s.richest()
	l.mu.Lock()
	i := slices.IndexFunc(l.open, func(c *limitedConn) bool { return c.from == most })
	if i < 0 {
		l.mu.Unlock()
		return false
	}
	oldest := l.open[i]
	l.mu.Unlock()
	l.refuse(oldest)
	return true
}

func (l *Listener) refuse(c *limitedConn) {
	_ = c.Close()
	if l.Refused != nil {
		l.Refused()
	}
}

// A limitedConn is released when it is closed.
type limitedConn struct {
	net.Conn
	*Share
	from *caller
	at   *Listener
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.Release()
	c.at.mu.Lock()
	c.at.open = slices.DeleteFunc(c.at.open, func(o *limitedConn) bool { return o == c })
	c.at.mu.Unlock()
	return c.Conn.Close()
}

const (
	// headers is the limit of a request's headers, in bytes.
	headers = 8 << 10
	// request is how long a caller may take to send its request, and answer how long until it has read the answer.
	request, answer = 10 * time.Second, 30 * time.Second
)

// NewServer returns a server of probes and metrics over HTTP, and its listener, with a limit of connections. It answers one
// request of a caller at a time. It logs no failed connection: callers decide how often there is one.
func NewServer(h http.Handler, l net.Listener, connections int64) (*http.Server, net.Listener) {
	all := NewPool(connections, 1)
	inTurn := func(w http.ResponseWriter, r *http.Request) {
		s := all.Share(r.RemoteAddr)
		defer s.Release()
		if done, err := s.Turn(r.Context(), 1); err == nil {
			defer done()
			h.ServeHTTP(w, r)
		}
	}
	return &http.Server{
		Handler: http.HandlerFunc(inTurn), MaxHeaderBytes: headers, ReadTimeout: request, WriteTimeout: answer, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0),
	}, &Listener{Listener: l, Of: all}
}
