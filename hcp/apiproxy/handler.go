// This file is the HTTP handler through which other processes reach the API server.

package apiproxy

import (
	"crypto/subtle"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
)

// A Handler forwards requests to an API server.
type Handler struct {
	// Transport renames and sends the requests.
	Transport *Transport
	// Token is the bearer token that callers must send. It is not forwarded. Empty: the caller's own credentials are
	// forwarded, and Transport must add none.
	Token string
	Log   *slog.Logger
}

// Serve returns the HTTP handler. If the API server's answer is incomplete, the handler closes the caller's connection.
func (h Handler) Serve() http.Handler {
	forward := &httputil.ReverseProxy{
		Transport:     h.Transport,
		FlushInterval: -1,
		BufferPool:    &buffers{},
		ErrorLog:      Lines(h.Log, "answer broke off"),
		Rewrite: func(p *httputil.ProxyRequest) {
			server := h.Transport.Server
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = server.Scheme, server.Host, ""
			p.Out.URL.RawQuery = p.In.URL.RawQuery
			if prefix := h.Transport.prefix(); prefix != "" {
				_ = setPath(p.Out.URL, prefix+p.In.URL.EscapedPath()) // Never an error: net/http has unescaped this path before.
			}
			if h.Token != "" {
				p.Out.Header.Del("Authorization")
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				h.Log.Warn("API server unreachable", "err", err)
			}
			writeStatus(w, http.StatusServiceUnavailable, "ServiceUnavailable", "the API server cannot be reached: "+err.Error())
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.Token != "" && !h.permitted(r) {
			writeStatus(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
			return
		}
		out, end := h.Transport.Bodies.stalled(w)
		defer end()
		forward.ServeHTTP(out, withController(w, r))
	})
}

type buffers struct{ free sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if used, ok := b.free.Get().(*[]byte); ok {
		return *used
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(used []byte) { b.free.Put(&used) }

func (h Handler) permitted(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(h.Token)) == 1
}

// Lines returns a logger for the standard library. Logger to gets each line as a warning with this message. The line is
// the value of key err.
func Lines(to *slog.Logger, message string) *log.Logger { return log.New(lines{to, message}, "", 0) }

type lines struct {
	to      *slog.Logger
	message string
}

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.to.Warn(l.message, "err", strings.TrimSpace(string(line)))
	return len(line), nil
}
