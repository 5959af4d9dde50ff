// This file runs the server on open sockets. The caller chooses addresses and devices.

package dns

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/dns/shares"
)

const (
	// maxQuestion is the size of the longest question in octets. A longer one is dropped.
	maxQuestion = 2048
	// stopTime is how long shutdown waits for questions in progress.
	stopTime = 5 * time.Second
	// leastWorkers is the least number of workers for questions over UDP. They do not wait for upstreams.
	leastWorkers = 4
)

// past is a deadline that ends a wait immediately.
var past = time.Unix(1, 0)

// A server answers what its sockets receive.
type server struct {
	handler *Handler
	metrics *Metrics
	// unproven sockets send to hosts whose MAC the kernel does not know, one socket for each group.
	unproven []socket

	mu          sync.Mutex
	connections *shares.Shares[net.Conn]
	// conversations are the connections that are served.
	conversations sync.WaitGroup
}

// Run serves h on p and on l (TCP) until ctx ends. p are UDP sockets from socket.ListenShared, and their number must be
// Sockets. Run then answers pending questions for at most stopTime, and closes all sockets.
func Run(ctx context.Context, h *Handler, p []*net.UDPConn, l net.Listener) error {
	s := &server{handler: h, metrics: h.metrics, connections: shares.New[net.Conn](maxConnections, true)}
	defer func() {
		for _, c := range p {
			_ = c.Close()
		}
	}()
	by := uint32(byMAC)
	if h.options.MACs == nil {
		by = byAddress
	}
	sockets, err := spread(p, by)
	if err != nil {
		_ = l.Close()
		return err
	}
	s.unproven = sockets[receivers:]
	box, forwarding := newMailbox(), &sync.WaitGroup{}
	h.forwarding.Store(forwarding)
	var workers sync.WaitGroup
	for range max(leastWorkers, runtime.GOMAXPROCS(0)) {
		workers.Go(func() { s.work(box) })
	}
	g, running := errgroup.WithContext(ctx)
	for i, c := range p {
		g.Go(func() error { return s.read(running, c, sockets[i], uint8(i/socketsPerGroup%groups), box) })
	}
	g.Go(func() error { return s.accept(running, l) })
	g.Go(func() error {
		<-running.Done()
		for _, c := range p {
			_ = c.SetReadDeadline(past)
		}
		return l.Close()
	})
	err = g.Wait()
	box.close()
	ended := make(chan struct{})
	go func() {
		workers.Wait()
		s.conversations.Wait()
		forwarding.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(stopTime):
	}
	return err
}

// answer answers one message that the reader cannot answer (plain.go).
func (s *server) answer(data []byte, w *responder) {
	r, refusal := parse(data)
	switch {
	case r != nil:
		s.handler.ServeDNS(w, r)
	case refusal != nil:
		_ = w.WriteMsg(refusal) // A client that is gone needs no answer.
		s.handler.strange.count(byNone, refusal.Rcode, time.Now())
	}
}

// parse returns the question in data, or the answer that refuses data. Both nil: no answer.
func parse(data []byte) (r, refusal *dns.Msg) {
	if len(data) < 12 {
		return nil, nil
	}
	field := func(i int) uint16 { return binary.BigEndian.Uint16(data[2*i:]) }
	action := dns.DefaultMsgAcceptFunc(dns.Header{
		Id: field(0), Bits: field(1), Qdcount: field(2), Ancount: field(3), Nscount: field(4), Arcount: field(5),
	})
	if action != dns.MsgAccept {
		data = data[:12] // The records of a refused message would cost time.
	}
	r = new(dns.Msg)
	err := r.Unpack(data)
	switch {
	case action == dns.MsgIgnore:
		return nil, nil
	case action == dns.MsgAccept && err == nil && len(r.Question) == 1:
		return r, nil
	}
	refusal = &dns.Msg{MsgHdr: r.MsgHdr}
	opcode := r.Opcode
	refusal.SetRcodeFormatError(r)
	if action == dns.MsgRejectNotImplemented {
		refusal.Opcode, refusal.Rcode = opcode, dns.RcodeNotImplemented
	}
	refusal.Zero = false
	return nil, refusal
}

// clientOf returns the IP address in a, the remote address of a socket. It is zero if a has none.
func clientOf(a net.Addr) netip.Addr {
	switch a := a.(type) {
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap()
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// A responder sends the answer to one message.
type responder struct {
	local, remote net.Addr
	send          func([]byte) error
}

var _ dns.ResponseWriter = (*responder)(nil)

// LocalAddr implements dns.ResponseWriter, as all methods do.
func (w *responder) LocalAddr() net.Addr { return w.local }

// RemoteAddr returns the address of the client.
func (w *responder) RemoteAddr() net.Addr { return w.remote }

// WriteMsg packs and sends m.
func (w *responder) WriteMsg(m *dns.Msg) error {
	b, err := m.Pack()
	if err != nil {
		return err
	}
	return w.send(b)
}

// Write sends b.
func (w *responder) Write(b []byte) (int, error) { return len(b), w.send(b) }

// Close does nothing, since other responders use the same socket.
func (w *responder) Close() error { return nil }

// TsigStatus returns nil: nothing is signed.
func (w *responder) TsigStatus() error { return nil }

// TsigTimersOnly does nothing.
func (w *responder) TsigTimersOnly(bool) {}

// Hijack does nothing.
func (w *responder) Hijack() {}
