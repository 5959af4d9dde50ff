// This file answers questions over UDP. Each socket has a reader, which answers plain questions itself, and queues questions
// that take longer or that busy clients ask. So the kernel drops no packets. Clients take turns in the queue. Sending never
// blocks.

package dns

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/dns/shares"
)

const (
	// maxQueued limits the questions that wait for a worker.
	maxQueued = 4096
	// fewQuestions is how many questions of a client one socket answers in momentTime before it queues them.
	fewQuestions, momentTime = 50, 10 * time.Millisecond
)

// A received is a UDP message that waits for a worker.
type received struct {
	data   []byte
	from   netip.AddrPort
	client shares.Client
	socket socket
}

// A mailbox is the queue of packets. It is safe for concurrent use.
type mailbox struct {
	mu     sync.Mutex
	filled sync.Cond
	queue  *shares.Turns[received]
	closed bool
}

func newMailbox() *mailbox {
	b := &mailbox{queue: shares.NewTurns[received](maxQueued)}
	b.filled.L = &b.mu
	return b
}

// put queues a packet, and returns how many packets are lost.
func (b *mailbox) put(p received) (lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost = b.queue.Push(p.client, p)
	b.filled.Signal()
	return lost
}

// take waits for the next packet. False: the mailbox is closed and empty.
func (b *mailbox) take() (received, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if p, ok := b.queue.Pop(); ok {
			return p, true
		}
		if b.closed {
			return received{}, false
		}
		b.filled.Wait()
	}
}

func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}

// read reads questions from c, a socket of group, until ctx ends. It answers them through socket out, or queues them in
// mailbox to.
func (s *server) read(ctx context.Context, c *net.UDPConn, out socket, group uint8, to *mailbox) error {
	data, buffer := make([]byte, maxQuestion+1), make([]byte, 0, answers.BufferSize)
	recent, sender := recent{counts: map[shares.Client]int{}}, newSender()
	for {
		size, from, err := c.ReadFromUDPAddrPort(data)
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			s.metrics.shed(shedReceive, 1)
			continue
		case size > maxQuestion:
			s.metrics.shed(shedSize, 1)
			continue
		}
		p := received{from: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), socket: out}
		var present bool
		if p.client, present = s.handler.senderAt(p.from.Addr(), group); !present {
			// The kernel holds the answer back until the host answers an ARP request. It must not fill a buffer that others need.
			p.socket = s.unproven[group]
		}
		if recent.few(p.client, time.Now()) {
			if answer := s.handler.answer(p.from.Addr(), data[:size], buffer, false); answer != nil {
				s.sent(sender.send(p.socket, answer, p.from))
				continue
			}
		}
		p.data, p.client = append(p.data, data[:size]...), s.handler.ranked(p.client)
		s.metrics.shed(shedQueue, to.put(p))
	}
}

// recent counts the questions of each client at one socket in the current momentTime.
type recent struct {
	since  time.Time
	counts map[shares.Client]int
}

// few reports whether a client's question need not wait for its turn. In this momentTime, the client must have asked at most
// fewQuestions, or be the only client that asked.
func (a *recent) few(c shares.Client, now time.Time) bool {
	if age := now.Sub(a.since); age < 0 || age >= momentTime {
		a.since = now
		clear(a.counts)
	}
	a.counts[c]++
	return a.counts[c] <= fewQuestions || len(a.counts) == 1
}

// work answers queued questions, until the mailbox is closed and empty.
func (s *server) work(from *mailbox) {
	out, plain := make([]byte, 0, answers.BufferSize), newSender()
	for {
		p, ok := from.take()
		if !ok {
			return
		}
		if answer := s.handler.answer(p.from.Addr(), p.data, out, false); answer != nil {
			s.sent(plain.send(p.socket, answer, p.from))
			continue
		}
		w := &responder{
			local: p.socket.local, remote: net.UDPAddrFromAddrPort(p.from),
			send: func(b []byte) error {
				err := newSender().send(p.socket, b, p.from)
				s.sent(err)
				return err
			},
		}
		s.handler.guard.run(func() { s.answer(p.data, w) })
	}
}

// sent counts an answer as dropped if err is not nil.
func (s *server) sent(err error) {
	if err != nil {
		s.metrics.shed(shedSend, 1)
	}
}

// A socket sends over UDP. It is safe for concurrent use.
type socket struct {
	raw   syscall.RawConn
	local net.Addr
}

// A sender sends through sockets without allocating. Only one goroutine may use a sender.
type sender struct {
	data  []byte
	to    unix.SockaddrInet4
	sent  error
	write func(fd uintptr) bool
}

func newSender() *sender {
	s := &sender{}
	s.write = func(fd uintptr) bool {
		s.sent = unix.Sendto(int(fd), s.data, unix.MSG_DONTWAIT, &s.to)
		return true
	}
	return s
}

// send never waits: while the buffer of the socket is full, it returns EAGAIN.
func (s *sender) send(through socket, data []byte, to netip.AddrPort) error {
	s.data, s.to.Port, s.to.Addr = data, int(to.Port()), to.Addr().As4()
	return errors.Join(through.raw.Write(s.write), s.sent)
}
