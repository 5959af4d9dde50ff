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
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ServeHealth answers GET /readyz (200, or 503 with ready's error) and GET
// /metrics on a Unix socket until ctx ends. The directory must exist; a socket
// that a dead process left is replaced. Metrics may be nil.
func ServeHealth(ctx context.Context, socket string, ready func() error, metrics http.Handler) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

// Socket is where the named server (dhcp, dns, proxy) answers in runDir.
func Socket(runDir, name string) string { return filepath.Join(runDir, name+".sock") }

// Probe is nil where the server behind socket says that it is ready, else what
// it says is missing.
func Probe(ctx context.Context, socket string) error {
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://edge/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", strings.TrimSpace(string(body)))
	}
	return nil
}
