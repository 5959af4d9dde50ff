// This file limits what bodies of requests cost. A body is read and parsed before the API server knows who sends it.

package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// heldBodies is the limit of all bodies that are in memory at once, in bytes.
	heldBodies = 64 << 20
	// parsedBodies is the limit of all bodies that are parsed at once, in bytes. A parsed body needs many times its size.
	parsedBodies = 4 << 20
	// yamlCost is what a byte of YAML counts among parsedBodies.
	yamlCost = 4
	// retryAfter is the header of an answer to a request without memory, in seconds.
	retryAfter = "1"
)

// errBusy says that there was no memory for a request in time.
var errBusy = errors.New("too many large requests at once")

// Bodies limits the memory and the time of all requests that share it, and what one caller can take of both. Nil: there is no
// limit.
type Bodies struct {
	parsed *semaphore.Weighted
	// wait is how long a body waits to be parsed, and send how long a client has to send it.
	wait, send time.Duration

	mu   sync.Mutex
	free int64 // of heldBodies
	// callers are those with a body now, by IP address: a caller has no name yet, and can invent tokens.
	callers map[string]*caller
}

// A caller's bodies wait for each other before they wait for those of others. So one caller's bodies are never ahead of
// another's by more than parsedBodies.
type caller struct {
	requests int   // with a body
	held     int64 // by them
	parsed   *semaphore.Weighted
}

// NewBodies returns the limits of a process.
func NewBodies() *Bodies {
	return &Bodies{free: heldBodies, parsed: semaphore.NewWeighted(parsedBodies), callers: map[string]*caller{}, wait: 10 * time.Second, send: 30 * time.Second}
}

// A lease is the memory of one request.
type lease struct {
	*Bodies
	r       *http.Request
	address string
	caller  *caller // nil: nothing is read yet
	size    int64
}

// lease returns a lease of nothing. Its release is due when the body is sent.
func (b *Bodies) lease(r *http.Request) *lease { return &lease{Bodies: b, r: r} }

func (l *lease) release() {
	if l.caller == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free += l.size
	l.caller.held -= l.size
	if l.caller.requests--; l.caller.requests == 0 {
		delete(l.callers, l.address)
	}
}

// take takes n bytes. No caller has more than what is still free: alone it has half at most, and a part is always left for
// the others.
func (l *lease) take(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.caller.held+n > l.free-n {
		return false
	}
	l.free -= n
	l.caller.held += n
	l.size += n
	return true
}

// reader returns a reader that takes memory for what it reads. It does not wait for memory: if many did with a part of their
// body, none would have all of it.
func (l *lease) reader(from io.Reader) io.Reader {
	if l.Bodies == nil {
		return from
	}
	host, _, err := net.SplitHostPort(l.r.RemoteAddr)
	if err != nil {
		host = l.r.RemoteAddr
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.callers[host] == nil {
		l.callers[host] = &caller{parsed: semaphore.NewWeighted(parsedBodies)}
	}
	l.address, l.caller = host, l.callers[host]
	l.caller.requests++
	return leased{from, l}
}

type leased struct {
	from io.Reader
	*lease
}

// Read is that of io.Reader.
func (l leased) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if !l.take(int64(n)) {
		return 0, errBusy
	}
	return n, err
}

// parsing waits until a body that was read can be parsed. cost is in bytes. done is due after that.
func (l *lease) parsing(cost int) (done func(), err error) {
	if l.Bodies == nil {
		return func() {}, nil
	}
	n := min(int64(cost), parsedBodies)
	ctx, cancel := context.WithTimeout(l.r.Context(), l.wait)
	defer cancel()
	if l.caller.parsed.Acquire(ctx, n) != nil {
		return nil, errBusy
	}
	if l.parsed.Acquire(ctx, n) != nil {
		l.caller.parsed.Release(n)
		return nil, errBusy
	}
	return func() { l.parsed.Release(n); l.caller.parsed.Release(n) }, nil
}

// deadline gives a client its time to send a body. done lifts the limit. If it is not lifted, the connection ends.
func (l *lease) deadline(c *http.ResponseController) (done func()) {
	if c == nil || l.Bodies == nil || c.SetReadDeadline(time.Now().Add(l.send)) != nil {
		return func() {}
	}
	return func() { _ = c.SetReadDeadline(time.Time{}) } // It was possible before.
}

// controllerKey is that of the controller of a request's answer in the request's context.
type controllerKey struct{}

func withController(w http.ResponseWriter, r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w)))
}

// controllerOf returns the controller of a request's answer. Nil: the request is not one of a server.
func controllerOf(r *http.Request) *http.ResponseController {
	c, _ := r.Context().Value(controllerKey{}).(*http.ResponseController)
	return c
}

// unread returns the answer to a request whose body cannot be read or parsed.
func unread(r *http.Request, err error) *http.Response {
	code, reason := unreadCode(err)
	answer := refuse(r, code, reason, "reading the body: "+err.Error())
	if code == http.StatusServiceUnavailable {
		answer.Header.Set("Retry-After", retryAfter)
	}
	return answer
}

func unreadCode(err error) (code int, reason string) {
	switch {
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable, "ServiceUnavailable"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, "Timeout"
	}
	return http.StatusBadRequest, "BadRequest"
}
