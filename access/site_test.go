package access

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/test/loopback"
	"github.com/cldmnky/oooi/test/patience"
)

// A site is a Server, and servers in place of VMs: one for each address and port of the network.
type site struct {
	*Server
	t        *testing.T
	at       string
	keys     atomic.Pointer[Keys]
	registry *prometheus.Registry

	mu      sync.Mutex
	thief   netip.Addr        // another host has it
	vms     map[string]string // a listener on this host by the address that is dialed
	ended   []Tunnel
	refused []Refused
}

// newSite starts a server of blue. Change may change it before.
func newSite(t *testing.T, change func(s *site)) *site {
	t.Helper()
	s := &site{t: t, vms: map[string]string{}, registry: prometheus.NewRegistry()}
	s.keys.Store(&Keys{})
	keys := func() Keys { return *s.keys.Load() }
	s.Server = NewServer(Options{
		VMs: vms(), Keys: keys, Dial: s.dial, DialLimit: patience.Limit, Metrics: NewMetrics(s.registry, keys),
		IsVM:    s.isVM,
		Ended:   func(x Tunnel) { s.mu.Lock(); defer s.mu.Unlock(); s.ended = append(s.ended, x) },
		Refused: func(x Refused) { s.mu.Lock(); defer s.mu.Unlock(); s.refused = append(s.refused, x) },
	})
	s.limits.request, s.limits.answer = patience.Limit, patience.Limit
	s.Set(blue())
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	s.at = s.serve(ctx, 0)
	return s
}

// serve listens for callers, and returns where.
func (s *site) serve(ctx context.Context, listen uint16) string {
	s.t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = s.Serve(ctx, l, listen) }()
	return l.Addr().String()
}

// check ends tunnels as Run does from time to time.
func (s *site) check() {
	s.cut(func(t *tunnel) End { return t.over(s.limits.unanswered, s.idleLimit(t.Target)) })
}

// dial dials a VM. One that is not there is silent.
func (s *site) dial(ctx context.Context, from netip.Addr, to netip.AddrPort) (*net.TCPConn, error) {
	s.mu.Lock()
	at := s.vms[to.String()]
	s.mu.Unlock()
	if at == "" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if from != netip.MustParseAddr("192.168.100.4") {
		return nil, fmt.Errorf("from %s", from)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", at)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

func (s *site) isVM(a netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a == s.thief {
		return errors.New("another host")
	}
	return nil
}

// vm makes a server of an address and port.
func (s *site) vm(address string, handle func(*net.TCPConn)) {
	s.t.Helper()
	at := loopback.Serve(s.t, handle)
	s.mu.Lock()
	s.vms[address] = at
	s.mu.Unlock()
}

// echo sends back what it gets, until the other side sends no more.
func echo(c *net.TCPConn) { _, _ = io.Copy(c, c); _ = c.CloseWrite() }

// hello sends one line, and waits for the end.
func hello(c *net.TCPConn) {
	_, _ = io.WriteString(c, "hello\n")
	_, _ = io.Copy(io.Discard, c)
}

// caller dials the server and sends text.
func (s *site) caller(at, text string) *net.TCPConn {
	s.t.Helper()
	c, err := net.Dial("tcp4", at)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience.Limit))
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// connect asks for an authority, with further headers, and returns the status and the body of a refusal.
func (s *site) connect(authority string, headers ...string) (c *net.TCPConn, status int, body string) {
	s.t.Helper()
	c = s.caller(s.at, "CONNECT "+authority+" HTTP/1.1\r\nHost: "+authority+"\r\n"+strings.Join(append(headers, "\r\n"), "\r\n"))
	status, body = s.response(c)
	return c, status, body
}

// response reads an answer, and its body unless it is 200.
func (s *site) response(c *net.TCPConn) (status int, body string) {
	s.t.Helper()
	r := bufio.NewReaderSize(oneByte{c}, 16)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		s.t.Fatalf("no answer: %v", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.StatusCode, ""
	}
	b, err := io.ReadAll(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// oneByte reads a byte at a time, so that nothing behind the answer is read.
type oneByte struct{ io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.Reader.Read(b[:1]) }

func (s *site) tunnelsEnded() []Tunnel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Tunnel(nil), s.ended...)
}

func (s *site) callersRefused() []Refused {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Refused(nil), s.refused...)
}

// metric returns the value of a metric with one label or none.
func (s *site) metric(name string) string {
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue(); v != 0 {
				label := ""
				for _, l := range m.GetLabel() {
					label = l.GetValue() + " "
				}
				out = append(out, fmt.Sprint(label, v))
			}
		}
	}
	return strings.Join(out, ", ")
}
