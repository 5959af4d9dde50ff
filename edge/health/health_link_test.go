package health_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
)

// TestHostileServerLeadsNowhere: a container that a VM took over puts a link in place of its socket.
// The failover agent neither takes another server's answers for it, nor dials that server.
func TestHostileServerLeadsNowhere(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	fakes.NewServer(t, dir, string(network.ServiceDHCP))
	elsewhere, socket := wire.Socket(dir, string(network.ServiceDHCP)), wire.Socket(dir, string(network.ServiceDNS))
	g.Expect(health.Serves(t.Context(), elsewhere)).To(Succeed())
	g.Expect(os.Mkdir(filepath.Dir(socket), 0o755)).To(Succeed())
	g.Expect(os.Symlink(elsewhere, socket)).To(Succeed())
	g.Expect(health.Serves(t.Context(), socket)).To(MatchError(ContainSubstring("is not a socket")))
	got := make(chan error)
	go health.At(socket).Follow(t.Context(), health.ServesPath, func(err error, _ time.Time) {
		select {
		case got <- err:
		case <-t.Context().Done():
		}
	})
	g.Eventually(got, "1m").Should(Receive(MatchError(ContainSubstring("is not a socket"))))

	g.Expect(os.Remove(socket)).To(Succeed())
	l, err := net.Listen("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l.Close()).To(Succeed())
	g.Expect(health.Away(health.Serves(t.Context(), socket))).To(BeTrue())
}
