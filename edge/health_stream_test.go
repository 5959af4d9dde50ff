package edge_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge"
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
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	var mu sync.Mutex
	var yes, no time.Time
	var dues []time.Time
	edge.HealthAt(socket).FollowServes(ctx, func(err error, due time.Time) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			yes = time.Now()
			return
		}
		g.Expect(edge.Unanswered(err)).To(BeTrue(), "%v", err)
		if no.IsZero() {
			no = time.Now()
		}
		dues = append(dues, due)
	})
	g.Expect(yes).NotTo(BeZero())
	g.Expect(no).To(BeTemporally("~", yes, time.Second), "the end of a connection is noticed")
	g.Expect(len(dues)).To(BeNumerically(">=", 4))
	g.Expect(dues[0]).To(BeTemporally("~", yes, 500*time.Millisecond))
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
