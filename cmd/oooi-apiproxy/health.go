// This file serves the probes and the metrics. No label of a metric has values that a client can choose, so their number
// is limited.

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/callers"
	"github.com/cldmnky/oooi/hcp/apiproxy"
)

// metrics are the counters of the program. They do not use Prometheus' library, which would be a tenth of the program.
type metrics struct {
	requests [6]atomic.Int64 // by the first digit of the status
	broken   atomic.Int64
	closed   atomic.Int64
	open     atomic.Int64
}

// ServeHTTP writes the metrics in the text format of Prometheus.
func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString("# HELP oooi_apiproxy_requests_total Finished client requests, by class of the response status.\n# TYPE oooi_apiproxy_requests_total counter\n")
	for class := 1; class < len(m.requests); class++ {
		fmt.Fprintf(&b, "oooi_apiproxy_requests_total{code=\"%dxx\"} %d\n", class, m.requests[class].Load())
	}
	fmt.Fprintf(&b, "# HELP oooi_apiproxy_broken_answers_total Responses cut short because the API server's response was cut short.\n# TYPE oooi_apiproxy_broken_answers_total counter\noooi_apiproxy_broken_answers_total %d\n", m.broken.Load())
	fmt.Fprintf(&b, "# HELP oooi_apiproxy_open_requests Requests in progress, such as watches.\n# TYPE oooi_apiproxy_open_requests gauge\noooi_apiproxy_open_requests %d\n", m.open.Load())
	fmt.Fprintf(&b, "# HELP oooi_apiproxy_closed_connections_total Connections that were closed because their IP address has its share.\n# TYPE oooi_apiproxy_closed_connections_total counter\noooi_apiproxy_closed_connections_total %d\n", m.closed.Load())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, b.String()) // An error means that the client has closed the connection.
}

// count returns a handler that counts the requests, and passes them to handler next.
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.open.Add(1)
		seen := &seenStatus{ResponseWriter: w, code: http.StatusOK}
		defer func() {
			m.open.Add(-1)
			m.requests[min(seen.code/100, len(m.requests)-1)].Add(1)
			if p := recover(); p != nil {
				if r.Context().Err() == nil {
					m.broken.Add(1)
				}
				panic(p) // p is http.ErrAbortHandler, which ends the connection.
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// A seenStatus is an http.ResponseWriter that records the status code of the response.
type seenStatus struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *seenStatus) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (s *seenStatus) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// healthConnections is the largest number of open connections to the port of probes and metrics.
const healthConnections = 64

// If --health-listen is set, serveHealth adds the server of probes and metrics to g. Path /readyz succeeds while the API
// server can be reached and ctx has not ended. The server runs until drained ends, so that probes work while requests
// finish.
func (o *options) serveHealth(ctx, drained context.Context, g *errgroup.Group, m *metrics, t *apiproxy.Transport, logger *slog.Logger) error {
	if o.health == "" {
		return nil
	}
	l, err := net.Listen("tcp", o.health)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", m)
	mux.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		limit, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if ctx.Err() != nil {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		probe, err := http.NewRequestWithContext(limit, http.MethodGet, t.Server.JoinPath("readyz").String(), nil)
		if err == nil {
			var answer *http.Response
			if answer, err = t.Base.RoundTrip(probe); err == nil {
				_ = answer.Body.Close() // Any status is a success: a gateway has no rights, so the API server may answer 403.
			}
		}
		if err != nil {
			http.Error(w, "the API server cannot be reached: "+err.Error(), http.StatusServiceUnavailable)
		}
	})
	s, l := callers.NewServer(mux, l, healthConnections)
	o.serve(drained, g, s, l, nil, logger, func() {})
	logger.Info("health started", "address", l.Addr().String())
	return nil
}
