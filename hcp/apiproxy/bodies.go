// This file limits the memory and the time that bodies need. Clients are not trusted: a request's body is parsed before the
// API server authenticates the client, and a client may not read the body of its answer. In this package, an answer is the
// response of the API server.

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
	// heldBodies limits the sum of all request bodies in memory, in bytes.
	heldBodies = 64 << 20
	// heldAnswers limits the sum of all answers in memory, in bytes. It is a quarter of the memory of the gateway's
	// container. The limit is at least manyLargest times the size of the largest object. An object needs up to three times
	// its size, and one caller gets at most half of the limit.
	heldAnswers, manyLargest = 128 << 20, 8
	// small is the number of bytes of each answer that do not count.
	small = 64 << 10
	// parsedBodies limits the sum of all bodies that are parsed at the same time, in bytes. A parsed body needs many times
	// its size.
	parsedBodies = 4 << 20
	// yamlCost is the cost of a byte of YAML, in bytes of parsedBodies. So only one body of apirewrite.LargestYAML is
	// parsed at a time.
	yamlCost = parsedBodies / apirewrite.LargestYAML
	// protobufCost is the cost of a byte of protobuf, in bytes of parsedBodies. Two bytes may become an object that needs a
	// thousand bytes in memory.
	protobufCost = 64
	// retryAfter is the value of the header Retry-After, in seconds.
	retryAfter = "1"
)

var errBusy = errors.New("too many large requests at once")

// Bodies limits the memory and the time that the bodies of all requests in a process need, and the share of one caller. A
// nil *Bodies has no limits.
type Bodies struct {
	parsed *semaphore.Weighted
	// wait limits how long a body waits until it may be parsed. send limits the time in which a client must send a body.
	// stall limits how long a client stops reading an answer.
	wait, send, stall time.Duration
	requests, answers *callers.Pool
}

// NewBodies returns the default limits. largest is the size in bytes of the largest object that an answer may contain.
func NewBodies(largest int) *Bodies {
	return &Bodies{
		parsed: semaphore.NewWeighted(parsedBodies), wait: 10 * time.Second, send: 30 * time.Second, stall: time.Minute,
		requests: callers.NewPool(heldBodies, parsedBodies), answers: callers.NewPool(max(heldAnswers, manyLargest*int64(largest)), parsedBodies),
	}
}

// A lease counts the memory that one body holds.
type lease struct {
	*Bodies
	*callers.Share // nil: nothing is read yet
	r              *http.Request
}

// lease returns an empty lease for the body of r. The caller must call release after the body was sent.
func (b *Bodies) lease(r *http.Request) *lease { return &lease{Bodies: b, r: r} }

func (l *lease) release() { l.Share.Release() }

// answer returns the limits of the answer to r. The caller must call release when the answer is closed.
func (b *Bodies) answer(r *http.Request) (limits apirewrite.Limits, release func()) {
	if b == nil {
		return apirewrite.Limits{}, func() {}
	}
	l := &lease{b, b.answers.Share(r.RemoteAddr), r}
	return apirewrite.Limits{Hold: l.hold, Turn: l.parsing}, l.release
}

// hold sets the memory of l to parameter bytes minus constant small, but at least 0. If a limit is reached, it
// returns errBusy.
func (l *lease) hold(bytes int) error {
	if !l.Take(int64(max(0, bytes-small)) - l.Size()) {
		return errBusy
	}
	return nil
}

// reader returns a wrapper of parameter from. The wrapper adds the number of bytes that it reads to l. If a limit is
// reached, it returns errBusy. It does not wait for memory, because bodies that were read in part could wait for each other
// forever.
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

// parsing waits until a body that was read may be parsed. cost is the cost of the body, in bytes of parsedBodies. The
// caller must call done after parsing. After the time limit, parsing returns errBusy.
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

// deadline sets the time until which the client must have sent the body. After the caller has read the body, it must
// call done, else the connection ends at that time.
func (l *lease) deadline(c *http.ResponseController) (done func()) {
	if c == nil || l.Bodies == nil || c.SetReadDeadline(time.Now().Add(l.send)) != nil {
		return func() {}
	}
	return func() { _ = c.SetReadDeadline(time.Time{}) } // No error is expected, since the first call succeeded.
}

// controllerKey is the context key of a request's http.ResponseController.
type controllerKey struct{}

func withController(w http.ResponseWriter, r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w)))
}

// controllerOf returns the http.ResponseController of r. It returns nil if r is from a client in the same process.
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
