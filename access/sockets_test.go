package access

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// deaf has the kernel drop all that arrives for c, so that it acknowledges nothing more.
func deaf(c *net.TCPConn) error {
	return control(c, func(fd int) error {
		drop := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &drop})
	})
}

// full writes to c until nothing more is taken.
func full(g *WithT, c *net.TCPConn) {
	_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)) // It passes in any case.
	_, err := io.CopyN(c, zeros{}, 256<<20)
	g.Expect(err).To(MatchError(os.ErrDeadlineExceeded))
}

// TestUnread: a destination that acknowledges and reads nothing keeps its tunnel, for longer than one may acknowledge nothing. Then
// all that was sent arrives.
func TestUnread(t *testing.T) {
	g := NewWithT(t)
	const unanswered = 600 * time.Millisecond
	s := newSite(t, func(s *site) { s.limits.unanswered, s.limits.every = unanswered, 20*time.Millisecond })
	read := make(chan struct{})
	s.vm("192.168.100.50:22", func(c *net.TCPConn) { <-read; _, _ = io.Copy(io.Discard, c) })
	c, status, _ := s.connect("worker-1:22")
	g.Expect(status).To(Equal(200))
	full(g, c)
	g.Consistently(s.tunnelsEnded, 4*unanswered).Should(BeEmpty())
	close(read)
	g.Expect(c.CloseWrite()).To(Succeed())
	_, err := io.Copy(io.Discard, c)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(s.tunnelsEnded).Should(ConsistOf(And(HaveField("End", Closed), HaveField("Sent", BeNumerically(">", 0)))))
}

// TestLost: a peer that acknowledges nothing loses its tunnel with data in flight, also if its window was full before. An idle peer
// gets no data, so it acknowledges nothing and stays.
func TestLost(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, func(s *site) { s.limits.unanswered, s.limits.every = 600*time.Millisecond, 20*time.Millisecond })
	side := make(chan *net.TCPConn, 1)
	s.vm("192.168.100.50:22", func(c *net.TCPConn) { side <- c; <-t.Context().Done() })
	s.vm("192.168.100.50:10250", echo)
	idle, _, _ := s.connect("worker-1:10250")

	c, _, _ := s.connect("worker-1:22")
	g.Expect(deaf(<-side)).To(Succeed())
	_, err := io.WriteString(c, "x")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(ContainSubstring("reset")))
	g.Eventually(s.tunnelsEnded).Should(ConsistOf(HaveField("End", DestinationLost)))

	c, _, _ = s.connect("worker-1:22")
	full(g, c)
	g.Expect(deaf(<-side)).To(Succeed())
	g.Eventually(s.tunnelsEnded).Should(HaveLen(2))
	g.Expect(s.tunnelsEnded()[1].End).To(Equal(DestinationLost))

	c, _, _ = s.connect("worker-1:22")
	g.Expect(deaf(c)).To(Succeed())
	_, err = io.WriteString(<-side, "x")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(s.tunnelsEnded).Should(HaveLen(3))
	g.Expect(s.tunnelsEnded()[2].End).To(Equal(CallerLost))

	_, err = io.WriteString(idle, "x")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadFull(idle, make([]byte, 1))
	g.Expect(err).NotTo(HaveOccurred(), "it was idle for longer")
}
