package envoy

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/cldmnky/oooi/envoy/resources"
	. "github.com/onsi/gomega"
)

// TestReachLeadsToTheAPIServer: connections that are opened together use one worker each. The API server closes a connection that the edge
// has closed on its side.
func TestReachLeadsToTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	info, err := os.Stat(w.dirs.Reach())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o666)))
	for round := range 5 {
		var open []*net.UnixConn
		for range resources.Workers {
			c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: w.dirs.Reach(), Net: "unix"})
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = c.Close() }()
			open = append(open, c)
		}
		for i := range resources.Workers {
			total := func() string { return w.counter(t, fmt.Sprintf("listener.reach.worker_%d.downstream_cx_total", i)) }
			g.Eventually(total, patient, "5ms").Should(Equal(fmt.Sprint(round+1)), "worker %d", i)
		}
		for _, c := range open {
			_, err := io.WriteString(c, "\x16\x03\x01\x00\x05hello")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.CloseWrite()).To(Succeed())
			_ = c.SetReadDeadline(time.Now().Add(patient))
			b, err := io.ReadAll(c)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b).NotTo(BeEmpty(), "an alert")
		}
		for i := range resources.Workers { // Envoy counts a connection for a moment after the client saw its end
			open := func() string { return w.counter(t, fmt.Sprintf("listener.reach.worker_%d.downstream_cx_active", i)) }
			g.Eventually(open, patient, "5ms").Should(Equal("0"), "worker %d", i)
		}
	}
}
