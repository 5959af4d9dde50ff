// This file ends renamed answers that a client does not read, because each of them holds memory.

package apiproxy

import (
	"net/http"
	"strings"
	"time"
)

// A stalling is an http.ResponseWriter that fails if the client stops reading for longer than limit.
type stalling struct {
	http.ResponseWriter
	limit time.Duration
	timer *time.Timer
}

// stalled returns w with the limit b.stall. The caller must call end after the answer.
func (b *Bodies) stalled(w http.ResponseWriter) (out http.ResponseWriter, end func()) {
	if b == nil {
		return w, func() {}
	}
	c := http.NewResponseController(w)
	// A timer is cheaper than a deadline for each write: over HTTP/2, SetWriteDeadline sends a message to another goroutine.
	t := time.AfterFunc(b.stall, func() { _ = c.SetWriteDeadline(time.Now()) })
	t.Stop()
	return &stalling{w, b.stall, t}, func() { t.Stop() }
}

// within calls function write. If the answer is JSON, and so renamed, the limit applies to the call. A log or another
// stream may have a slow reader.
func (s *stalling) within(write func() error) error {
	if strings.HasPrefix(s.Header().Get("Content-Type"), "application/json") {
		s.timer.Reset(s.limit)
		defer s.timer.Stop()
	}
	return write()
}

// Write implements http.ResponseWriter.
func (s *stalling) Write(p []byte) (n int, err error) {
	err = s.within(func() error { n, err = s.ResponseWriter.Write(p); return err })
	return n, err
}

// FlushError flushes the answer for http.ResponseController.
func (s *stalling) FlushError() error {
	return s.within(http.NewResponseController(s.ResponseWriter).Flush)
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (s *stalling) Unwrap() http.ResponseWriter { return s.ResponseWriter }
