// Package health serves readiness and metrics over a Unix socket, and queries them. It never
// listens on a network: a kubelet's probe could hit an address that HyperShift published.
package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/cldmnky/oooi/edge/rundir"
)

// maxHeaders limits the headers of a request, in bytes.
const maxHeaders = 4 << 10

// Serve serves on a Unix socket until ctx ends; see rundir.Listen. It answers GET /readyz (200,
// or 503 with ready's error), GET /metrics, and, like /readyz, the questions in parameter more.
// With ?follow, a question in more gets an answer at each change. metrics may be nil.
func Serve(ctx context.Context, socket string, ready func() error, metrics http.Handler, more ...Question) error {
	l, err := rundir.Listen(socket)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+readyPath, answer(ready))
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	for _, q := range more {
		mux.HandleFunc("GET "+q.Path, q.answer)
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: maxHeaders}
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

// A Question is one path and its answer.
type Question struct {
	Path string
	// Why returns nil for yes, else the reason for no.
	Why func() error
	// Changed returns a channel that is closed when the answer may have changed. Nil: the answer
	// is sent once a second.
	Changed func() <-chan struct{}
}

// The paths of questions.
const (
	readyPath = "/readyz"
	// ServesPath reports whether a server serves VMs: they are better off with it than without,
	// even if it is not ready.
	ServesPath = "/servez"
	// PeerPath reports, at the failover agent, whether the peer serves.
	PeerPath = "/peer"
	// FreshPath reports, at the DHCP server, whether it can read its leases now. See Stale.
	FreshPath = "/freshz"
)

func (q Question) answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has(followParameter) {
		q.stream(w, r)
		return
	}
	answer(q.Why)(w, r)
}

// negative maps each path to the prefix of its negative answers.
var negative = map[string]string{
	readyPath: "not ready", ServesPath: "does not serve", PeerPath: "the other edge", FreshPath: "the leases",
}

// A Health queries one server. Each query connects again, so a stopped server is noticed
// immediately.
type Health struct{ client *http.Client }

// At returns a Health for the server behind socket, which must not be a link.
func At(socket string) Health {
	return Health{&http.Client{Transport: rundir.Transport(socket)}}
}

// Ready returns nil if the server is ready, else the reason it gives.
func (h Health) Ready(ctx context.Context) error { return h.ask(ctx, readyPath) }

// Serves returns nil if the server serves VMs now, else why not. See Away and Unanswered.
func (h Health) Serves(ctx context.Context) error { return h.ask(ctx, ServesPath) }

// PeerServes asks a failover agent. It returns nil if the peer serves now, else why not.
func (h Health) PeerServes(ctx context.Context) error { return h.ask(ctx, PeerPath) }

// Probe calls Health.Ready once.
func Probe(ctx context.Context, socket string) error { return At(socket).Ready(ctx) }

// Serves calls Health.Serves once.
func Serves(ctx context.Context, socket string) error { return At(socket).Serves(ctx) }

// Away reports whether err of Ready or Serves means that no process listens.
func Away(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// Unanswered reports whether err of Ready, Serves or any HTTP request means that no complete
// answer arrived in time. A server that is Away counts as an answer.
func Unanswered(err error) bool {
	var broken *url.Error
	return !Away(err) && (errors.As(err, &broken) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF))
}

func (h Health) ask(ctx context.Context, path string) error {
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
		return fmt.Errorf("%s: %s", negative[path], strings.TrimSpace(string(body)))
	}
	return nil
}
