// This file ends renamed answers that a client does not read, since each of them needs memory.

package apiproxy

import (
	"net/http"
	"strings"
	"time"
)

// A stalling is an answer whose client must not stop reading for longer than a limit.
type stalling struct {
	http.ResponseWriter
	limit time.Duration
	timer *time.Timer
}

// stalled returns w with the limit. The caller must call end after the answer.
func (b *Bodies) stalled(w http.ResponseWriter) (out http.ResponseWriter, end func()) {
	if b == nil {
		return w, func() {}
	}
	c := http.NewResponseController(w)
	// Setting a deadline for each write would cost more: over HTTP/2, this sends a message to another goroutine.
	t := time.AfterFunc(b.stall, func() { _ = c.SetWriteDeadline(time.Now()) })
	t.Stop()
	return &stalling{w, b.stall, t}, func() { t.Stop() }
}

// within runs a write with the limit if the answer is renamed. A log or another stream may have a slow reader.
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

// FlushError is called by http.ResponseController.
func (s *stalling) FlushError() error {
	return s.within(http.NewResponseController(s.ResponseWriter).Flush)
}

// Unwrap is called by http.ResponseController.
func (s *stalling) Unwrap() http.ResponseWriter { return s.ResponseWriter }
