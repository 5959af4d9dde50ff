// This file limits what bodies of requests cost. A body is read and parsed before the API server knows who sends it.

package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
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

// Bodies limits the memory and the time of all requests that share it. Nil: there is no limit.
type Bodies struct {
	held, parsed *semaphore.Weighted
	// wait is how long a body waits to be parsed, and send how long a client has to send it.
	wait, send time.Duration
}

// NewBodies returns the limits of a process.
func NewBodies() *Bodies {
	return &Bodies{held: semaphore.NewWeighted(heldBodies), parsed: semaphore.NewWeighted(parsedBodies), wait: 10 * time.Second, send: 30 * time.Second}
}

// A lease is the memory of one request.
type lease struct {
	*Bodies
	ctx  context.Context
	size int64
}

// lease returns a lease of nothing. Its release is due when the body is sent.
func (b *Bodies) lease(ctx context.Context) *lease { return &lease{Bodies: b, ctx: ctx} }

func (l *lease) release() {
	if l.Bodies != nil {
		l.held.Release(l.size)
	}
}

// reader returns a reader that takes memory for what it reads. It does not wait for memory: if many did with a part of their
// body, none would have all of it.
func (l *lease) reader(from io.Reader) io.Reader {
	if l.Bodies == nil {
		return from
	}
	return leased{from, l}
}

type leased struct {
	from io.Reader
	*lease
}

// Read is that of io.Reader.
func (l leased) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if !l.held.TryAcquire(int64(n)) {
		return 0, errBusy
	}
	l.size += int64(n)
	return n, err
}

// parsing waits until a body of this cost in bytes can be parsed. done is due after that.
func (l *lease) parsing(cost int) (done func(), err error) {
	if l.Bodies == nil {
		return func() {}, nil
	}
	n := min(int64(cost), parsedBodies)
	ctx, cancel := context.WithTimeout(l.ctx, l.wait)
	defer cancel()
	if l.parsed.Acquire(ctx, n) != nil {
		return nil, errBusy
	}
	return func() { l.parsed.Release(n) }, nil
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
