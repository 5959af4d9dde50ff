// This file answers questions over TCP, one after the other on each connection.

package dns

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"time"
)

const (
	// maxConnections is the limit of TCP connections, each with a file descriptor.
	maxConnections = 2000
	// firstQuestion is how long a client may take to send the first question of a connection, and idle the limit for
	// each later question.
	firstQuestion, idle = 3 * time.Second, 10 * time.Second
	// writeTime is how long a client may take to accept an answer.
	writeTime = 3 * time.Second
)

// accept serves connections until ctx ends. At the limit, the client with the most connections loses its oldest one.
func (s *server) accept(ctx context.Context, l net.Listener) error {
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			s.metrics.shed(shedReceive, 1)
			select { // No file descriptor is left.
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		s.mu.Lock()
		h, lost := s.connections.Take(s.handler.clientAt(clientOf(c.RemoteAddr())), 1, c)
		s.mu.Unlock()
		for _, other := range lost {
			_ = other.Close()
		}
		s.metrics.shed(shedConnections, len(lost))
		if h == nil {
			s.metrics.shed(shedConnections, 1)
			_ = c.Close()
			continue
		}
		s.conversations.Go(func() {
			s.handler.guard.run(func() { s.converse(ctx, c) })
			_ = c.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.connections.Give(h)
		})
	}
}

// converse answers the questions of one connection until ctx or the connection ends.
func (s *server) converse(ctx context.Context, c net.Conn) {
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(past) })()
	in := bufio.NewReaderSize(c, 512)
	var length [2]byte
	var out []byte
	for timeout := firstQuestion; ; timeout = idle {
		runtime.Gosched() // Connections and sockets take turns, however many questions a client sends at once.
		_ = c.SetReadDeadline(time.Now().Add(timeout))
		if ctx.Err() != nil {
			return
		}
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint16(length[:]))
		if size > maxQuestion {
			s.metrics.shed(shedSize, 1)
			return
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(in, data); err != nil {
			return
		}
		if out = s.handler.answer(clientOf(c.RemoteAddr()), data, append(out[:0], 0, 0), true); out != nil {
			binary.BigEndian.PutUint16(out, uint16(len(out)-2))
			_ = c.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := c.Write(out); err != nil {
				return
			}
			continue
		}
		s.answer(data, &responder{local: c.LocalAddr(), remote: c.RemoteAddr(), send: func(b []byte) error {
			out := make([]byte, 2, 2+len(b))
			binary.BigEndian.PutUint16(out, uint16(len(b)))
			_ = c.SetWriteDeadline(time.Now().Add(writeTime))
			_, err := c.Write(append(out, b...))
			return err
		}})
	}
}
