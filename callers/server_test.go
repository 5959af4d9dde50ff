package callers

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	_ "github.com/cldmnky/oooi/test/patience"
)

// TestConnectionsOfOneAddress: one that opens twice as many connections as there are, and sends nothing, has half of them. The
// rest is closed at once, so none waits in the kernel's queue, and another address is answered.
func TestConnectionsOfOneAddress(t *testing.T) {
	const most = 8
	g := NewWithT(t)
	at, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	s, l := NewServer(http.NotFoundHandler(), at, most)
	limited := l.(*Listener)
	closed := make(chan struct{}, 2*most)
	limited.Refused = func() { closed <- struct{}{} }
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	dial := func(address string) net.Conn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(t.Context(), "tcp", at.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for range 2 * most {
		dial("127.0.0.1")
	}
	for range 2*most - most/2 {
		g.Eventually(closed, "1m").Should(Receive())
	}
	// status is that of the answer to a request with these headers.
	status := func(headers string) int {
		c := dial("127.0.0.2")
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+headers+"\r\n") // It fails if the server has enough.
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
		return answer.StatusCode
	}
	g.Expect(status("")).To(Equal(http.StatusNotFound), "another address")
	g.Expect(status("A: " + strings.Repeat("x", 2*headers) + "\r\n")).To(Equal(http.StatusRequestHeaderFieldsTooLarge))
	g.Expect(closed).To(BeEmpty(), "one address has half, and no less")
	g.Expect(s.Close()).To(Succeed())
	g.Expect(errors.Is(<-ended, http.ErrServerClosed)).To(BeTrue())
	g.Eventually(limited.Of.Free, "1m").Should(BeEquivalentTo(most), "what is over is given back")
}

// TestManyAddressesLeaveRoom: pods that together have all connections of a port, and keep them, do not keep the kubelet's probes away.
// Those with one connection keep it.
func TestManyAddressesLeaveRoom(t *testing.T) {
	const most = 8
	g := NewWithT(t)
	at, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	s, l := NewServer(http.NotFoundHandler(), at, most)
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	// answers reports whether a request gets an answer.
	answers := func(c net.Conn) bool {
		_, _ = io.WriteString(c, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n") // It fails if the connection is closed.
		answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodHead})
		return err == nil && answer.Body.Close() == nil
	}
	dial := func(host int) net.Conn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(host))}}).DialContext(t.Context(), "tcp", at.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	var greedy []net.Conn
	for range most / 2 {
		c := dial(1)
		g.Expect(answers(c)).To(BeTrue())
		greedy = append(greedy, c)
	}
	for host := 2; host <= 4; host++ {
		g.Expect(answers(dial(host))).To(BeTrue(), "address %d", host)
	}
	g.Expect(l.(*Listener).Of.Free()).To(BeEquivalentTo(1), "no address has room")
	probe := dial(5)
	g.Expect(answers(probe)).To(BeTrue(), "a fifth address")
	g.Expect(answers(greedy[0])).To(BeFalse(), "the oldest of that with most")
	g.Expect(answers(greedy[1])).To(BeTrue())
	g.Expect(answers(probe)).To(BeTrue())
	for range most {
		g.Expect(answers(dial(1))).To(BeFalse(), "it gets no more")
	}
	g.Expect(answers(probe)).To(BeTrue(), "it keeps its own")
	g.Expect(s.Close()).To(Succeed())
	g.Eventually(l.(*Listener).Of.Free, "1m").Should(BeEquivalentTo(most))
	g.Expect(l.(*Listener).open).To(BeEmpty())
}

// TestOneRequestAtATime: a pod that asks for metrics on all connections it gets has one answer made at a time, and delays no probe.
func TestOneRequestAtATime(t *testing.T) {
	g := NewWithT(t)
	at, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	begun, end := make(chan string, 8), make(chan struct{})
	s, l := NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- r.URL.Path
		<-end
	}), at, 8)
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	ask := func(address, path string) net.Conn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(t.Context(), "tcp", at.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	flood := []net.Conn{ask("127.0.0.1", "/metrics"), ask("127.0.0.1", "/metrics"), ask("127.0.0.1", "/metrics")}
	g.Eventually(begun, "1m").Should(Receive(Equal("/metrics")))
	g.Eventually(l.(*Listener).Of.Free, "1m").Should(BeEquivalentTo(5), "all are accepted")
	g.Consistently(begun, "200ms").ShouldNot(Receive(), "the flood has its turn")
	ask("127.0.0.2", "/healthz")
	g.Eventually(begun, "1m").Should(Receive(Equal("/healthz")))
	close(end)
	for _, c := range flood {
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
	}
}
