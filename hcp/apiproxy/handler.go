// This file is the server that clients reach the API server through.

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
	// Transport renames them.
	Transport *Transport
	// Token is what callers must show, and what is not forwarded. Empty: the caller's credentials are forwarded, and Transport
	// adds none.
	Token string
	Log   *slog.Logger
}

// Serve returns the handler. An answer that breaks off ends the caller's connection.
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
				_ = setPath(p.Out.URL, prefix+p.In.URL.EscapedPath()) // It was unescaped once already.
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

// buffers are those that answers are copied through.
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

// Lines returns a logger whose lines are the errors of warnings with this message.
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
