// This file keeps what a program or a logger writes, for tests that read it meanwhile.

package programs

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// An Output keeps everything that is written to it. The zero value is empty. Its methods can be called concurrently.
type Output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(b)
}

// String returns what was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// Count returns how often text occurs.
func (o *Output) Count(text string) int { return strings.Count(o.String(), text) }

// At returns when the last line with text was logged, of lines that begin with slog's time. Zero: there is none.
func (o *Output) At(text string) (at time.Time) {
	for line := range strings.Lines(o.String()) {
		if stamp, logged := strings.CutPrefix(line, "time="); logged && strings.Contains(line, text) {
			stamp, _, _ = strings.Cut(stamp, " ")
			at, _ = time.Parse(time.RFC3339Nano, stamp)
		}
	}
	return at
}
