package admin

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/test/patience"
)

// hostile is an Envoy that a VM has taken over: it answers as it likes.
func hostile(t *testing.T, answer http.HandlerFunc) (dir string) {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "oooi-envoy-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "listens.sock"))
	g.Expect(err).NotTo(HaveOccurred())
	s := &http.Server{Handler: answer}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return dir
}

// TestHostileEnvoyLeadsNowhere: the proxy agent does not follow a link in place of Envoy's socket.
func TestHostileEnvoyLeadsNowhere(t *testing.T) {
	g := NewWithT(t)
	asked := make(chan string, 10)
	dir := hostile(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path })
	elsewhere, socket := filepath.Join(dir, "listens.sock"), filepath.Join(dir, "admin.sock")
	a := NewClient(rundir.Transport(socket))
	g.Expect(os.Symlink(elsewhere, socket)).To(Succeed())
	g.Expect(a.Serves(t.Context(), nil)).To(MatchError(ContainSubstring("is not a socket")))
	g.Expect(asked).NotTo(Receive())
	g.Expect(os.Remove(socket)).To(Succeed())
	g.Expect(a.Serves(t.Context(), nil)).To(MatchError(os.ErrNotExist))
	g.Expect(os.Link(elsewhere, socket)).To(Succeed())
	_ = a.Serves(t.Context(), nil)
	g.Expect(asked).To(Receive(Equal("/ready")), "its own socket")
}

// TestHostileEnvoyIsBounded: Envoy cannot make the proxy agent store or wait without limit.
func TestHostileEnvoyIsBounded(t *testing.T) {
	g := NewWithT(t)
	dir := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("a 1\n")); err != nil {
				return
			}
		}
	})
	g.Expect(os.Link(filepath.Join(dir, "listens.sock"), filepath.Join(dir, "admin.sock"))).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
	defer cancel()
	_, err := NewClient(rundir.Transport(filepath.Join(dir, "admin.sock"))).Metrics(ctx)
	g.Expect(err).To(MatchError(ContainSubstring("longer than")))
}
