package health_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
)

// TestAServerThatAnswersNothing: a server that accepts and closes is silent since its last
// answer, on whichever connection that was.
func TestAServerThatAnswersNothing(t *testing.T) {
	g := NewWithT(t)
	socket := filepath.Join(t.TempDir(), "dhcp.sock")
	l, err := net.Listen("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = l.Close() }()
	go closing(l)
	began := time.Now()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var yes time.Time
	var dues []time.Time
	var errs []error
	health.At(socket).Follow(ctx, health.ServesPath, func(err error, due time.Time) {
		if err == nil {
			yes = time.Now()
			return
		}
		g.Expect(health.Unanswered(err)).To(BeTrue(), "%v", err)
		if dues, errs = append(dues, due), append(errs, err); len(dues) == 4 {
			stop()
		}
	})
	g.Expect(yes).NotTo(BeZero())
	g.Expect(errs).To(ContainElement(MatchError(io.ErrUnexpectedEOF)), "the end of a connection is noticed")
	g.Expect(len(dues)).To(Equal(4))
	// It was set before the callback, to an interval after the answer.
	g.Expect(dues[0]).To(And(BeTemporally(">", began), BeTemporally("<=", yes.Add(250*time.Millisecond))), "it had to answer again soon after its last answer")
	g.Expect(dues).To(HaveEach(dues[0]), "silence does not begin again with a connection")
}

// closing answers the first connection with one line, others with the header only.
func closing(l net.Listener) {
	const header = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for body := "3\r\nok\n\r\n"; ; body = "" {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, header+body)
		_ = c.Close()
	}
}
