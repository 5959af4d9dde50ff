// This file limits the memory and the time that bodies cost. The body of a request is parsed before the API server
// authenticates its sender, and the body of an answer waits for a client that may not read it.

package apiproxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cldmnky/oooi/callers"
	"github.com/cldmnky/oooi/hcp/apirewrite"
)

const (
	// heldBodies is the limit of all request bodies in memory at one time, in bytes.
	heldBodies = 64 << 20
	// heldAnswers is the limit of all answers in memory at one time, in bytes: a quarter of the gateway's container. It is
	// higher if the largest object needs more: manyLargest times its size. One object needs up to three times its size, and
	// one caller gets at most half.
	heldAnswers, manyLargest = 128 << 20, 8
	// small is how many bytes an answer may hold without being counted.
	small = 64 << 10
	// parsedBodies is the limit of all bodies that are parsed at one time, in bytes. A parsed body needs many times its size.
	parsedBodies = 4 << 20
	// yamlCost is the weight of a byte of YAML: only one body of apirewrite.LargestYAML is parsed at a time.
	yamlCost = parsedBodies / apirewrite.LargestYAML
	// protobufCost is the weight of a byte of protobuf: two bytes may become an object of a thousand bytes in memory.
	protobufCost = 64
	// retryAfter is a header's value in seconds.
	retryAfter = "1"
)

var errBusy = errors.New("too many large requests at once")

// Bodies limits the memory and the time of all requests that share it, and the part of one caller. Nil: there is no
// limit.
type Bodies struct {
	parsed *semaphore.Weighted
	// wait, send and stall are time limits: of a body for its turn to be parsed, of a client that sends a body, and of
	// a client that does not read an answer.
	wait, send, stall time.Duration
	requests, answers *callers.Pool
}

// NewBodies returns the limits of a process. largest is the limit of an answer's object in bytes.
func NewBodies(largest int) *Bodies {
	return &Bodies{
		parsed: semaphore.NewWeighted(parsedBodies), wait: 10 * time.Second, send: 30 * time.Second, stall: time.Minute,
		requests: callers.NewPool(heldBodies, parsedBodies), answers: callers.NewPool(max(heldAnswers, manyLargest*int64(largest)), parsedBodies),
	}
}

// A lease is the memory that one body holds.
type lease struct {
	*Bodies
	*callers.Share // nil: nothing is read yet
	r              *http.Request
}

// lease returns an empty lease. The caller must release it when the body was sent.
func (b *Bodies) lease(r *http.Request) *lease { return &lease{Bodies: b, r: r} }

func (l *lease) release() { l.Share.Release() }

// answer returns the limits of an answer to r. The caller must call release when the answer is closed.
func (b *Bodies) answer(r *http.Request) (limits apirewrite.Limits, release func()) {
	if b == nil {
		return apirewrite.Limits{}, func() {}
	}
	l := &lease{b, b.answers.Share(r.RemoteAddr), r}
	return apirewrite.Limits{Hold: l.hold, Turn: l.parsing}, l.release
}

// hold takes or gives back memory, so that the body holds so many bytes. The first bytes, up to small, do not count.
func (l *lease) hold(bytes int) error {
	if !l.Take(int64(max(0, bytes-small)) - l.Size()) {
		return errBusy
	}
	return nil
}

// reader takes memory for what it reads. It never waits for memory: bodies that are read in part could wait for each
// other forever.
func (l *lease) reader(from io.Reader) io.Reader {
	if l.Bodies == nil {
		return from
	}
	l.Share = l.requests.Share(l.r.RemoteAddr)
	return leased{from, l}
}

type leased struct {
	from io.Reader
	*lease
}

// Read implements io.Reader.
func (l leased) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if !l.Take(int64(n)) {
		return 0, errBusy
	}
	return n, err
}

// parsing waits until a body that was read may be parsed. cost is in bytes. The caller must call done after parsing.
func (l *lease) parsing(cost int) (done func(), err error) {
	if l.Bodies == nil {
		return func() {}, nil
	}
	n := min(int64(cost), parsedBodies)
	ctx, cancel := context.WithTimeout(l.r.Context(), l.wait)
	defer cancel()
	over, err := l.Turn(ctx, n)
	if err != nil {
		return nil, errBusy
	}
	if l.parsed.Acquire(ctx, n) != nil {
		over()
		return nil, errBusy
	}
	return func() { l.parsed.Release(n); over() }, nil
}

// deadline limits the time in which a client must send a body. If done is not called, the connection ends.
func (l *lease) deadline(c *http.ResponseController) (done func()) {
	if c == nil || l.Bodies == nil || c.SetReadDeadline(time.Now().Add(l.send)) != nil {
		return func() {}
	}
	return func() { _ = c.SetReadDeadline(time.Time{}) } // No error is expected, since the first call succeeded.
}

// controllerKey is the context key of the http.ResponseController of a request's answer.
type controllerKey struct{}

func withController(w http.ResponseWriter, r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w)))
}

// controllerOf returns nil if no server received the request.
func controllerOf(r *http.Request) *http.ResponseController {
	c, _ := r.Context().Value(controllerKey{}).(*http.ResponseController)
	return c
}

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
