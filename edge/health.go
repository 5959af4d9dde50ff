// This file answers readiness and metrics over a Unix socket, and asks for them.
// It never listens on a network: a kubelet's probe of an address could meet an
// address that HyperShift published.

package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// ServeHealth answers GET /readyz (200, or 503 with ready's error), GET /metrics and
// more on a Unix socket until ctx ends. More is answered as /readyz is, once, or with
// ?follow at each change. The directory must exist; a socket that a dead process left
// is replaced. Metrics may be nil.
func ServeHealth(ctx context.Context, socket string, ready func() error, metrics http.Handler, more ...Question) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", answer(ready))
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	for _, q := range more {
		mux.HandleFunc("GET "+q.Path, q.answer)
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

func answer(why func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := why(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	}
}

// A Question is a path that is answered.
type Question struct {
	Path string
	// Why is why the answer is no, nil for yes.
	Why func() error
	// Changed is closed when the answer may have changed since it was called. Nil: it
	// is asked once a second.
	Changed func() <-chan struct{}
}

// The paths of questions.
const (
	// ServesPath is where a server says whether it serves VMs. A server is ready when it
	// does all that it is there for. It serves as long as VMs are better off with it
	// than with nothing.
	ServesPath = "/servez"
	// PeerPath is where the failover agent says whether the other edge serves.
	PeerPath = "/peer"
)

func (q Question) answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has(followParameter) {
		q.stream(w, r)
		return
	}
	answer(q.Why)(w, r)
}

// What an answer no begins with.
const (
	noServing = "does not serve"
	noPeer    = "the other edge"
)

// A Health asks one server. A question uses a connection of its own, so a server that
// has ended is away at once.
type Health struct{ client *http.Client }

// HealthAt asks the server behind socket.
func HealthAt(socket string) Health {
	return Health{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}}}
}

// Ready is nil where the server says that it is ready, else what it says is
// missing.
func (h Health) Ready(ctx context.Context) error { return h.ask(ctx, "/readyz", "not ready") }

// Serves is nil where the server says that it serves machines now, else why not.
// See Away and Unanswered.
func (h Health) Serves(ctx context.Context) error { return h.ask(ctx, ServesPath, noServing) }

// PeerServes is nil where the server, a failover agent, sees the network's other edge
// serve now, else why not.
func (h Health) PeerServes(ctx context.Context) error {
	return h.ask(ctx, PeerPath, noPeer)
}

// Probe is Health.Ready, asked once.
func Probe(ctx context.Context, socket string) error { return HealthAt(socket).Ready(ctx) }

// Serves is Health.Serves, asked once.
func Serves(ctx context.Context, socket string) error { return HealthAt(socket).Serves(ctx) }

// Away says whether an error of Ready or Serves is that nobody was there to ask:
// the process has ended, or has not begun.
func Away(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// Unanswered says whether an error of Ready or Serves, or of another who was asked
// by HTTP, is that no answer came: in time, or whole. Who is away has answered.
func Unanswered(err error) bool {
	var broken *url.Error
	return !Away(err) && (errors.As(err, &broken) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF))
}

func (h Health) ask(ctx context.Context, path, no string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://edge"+path, nil)
	if err != nil {
		return err
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", no, strings.TrimSpace(string(body)))
	}
	return nil
}
