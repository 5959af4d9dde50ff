// Package progress writes lines with the seconds since the start, and a status line in between. On a terminal, the status line is
// overwritten. Elsewhere, a new one is written every 15 seconds. The package uses only the standard library.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// erase returns to the start of a terminal's line and clears it.
const erase = "\r\x1b[K"

// pause is the time between two status lines if they cannot be overwritten.
const pause = 15 * time.Second

// A Log writes lines to one writer. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	now      func() time.Time
	start    time.Time
	last     time.Time // when a line was written
	pending  bool      // the cursor is at the end of a status line
}

// New returns a Log that starts now. If w is nil, it writes nothing.
func New(w io.Writer) *Log { return newLog(w, IsTerminal(w), time.Now) }

func newLog(w io.Writer, terminal bool, now func() time.Time) *Log {
	return &Log{w: w, terminal: terminal, now: now, start: now(), last: now()}
}

// IsTerminal reports whether lines on w can be overwritten: w is a terminal, or has a method IsTerminal that returns true.
func IsTerminal(w io.Writer) bool {
	switch w := w.(type) {
	case interface{ IsTerminal() bool }:
		return w.IsTerminal()
	case *os.File:
		info, err := w.Stat()
		return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" && w.Name() != os.DevNull
	}
	return false
}

// Say writes a line.
func (l *Log) Say(format string, args ...any) {
	if l == nil || l.w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := ""
	if l.pending {
		before, l.pending = erase, false
	}
	l.last = l.now()
	fmt.Fprintf(l.w, "%s%6.1fs %s\n", before, l.seconds(), fmt.Sprintf(format, args...))
}

// Status shows text as the status line, until the next line. It may be called at any rate.
func (l *Log) Status(text string) {
	if l == nil || l.w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.terminal:
		l.pending = true
		fmt.Fprintf(l.w, "%s%6.1fs %s", erase, l.seconds(), short(text, 100))
	case l.now().Sub(l.last) >= pause:
		l.last = l.now()
		fmt.Fprintf(l.w, "%6.1fs %s\n", l.seconds(), text)
	}
}

func (l *Log) seconds() float64 { return l.now().Sub(l.start).Seconds() }

// short returns at most n bytes of text, because a status line that the terminal wraps cannot be overwritten.
func short(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
}

// Indent returns a writer that adds prefix before each line, also before status lines.
func Indent(w io.Writer, prefix string) io.Writer { return indent{w, prefix} }

type indent struct {
	w      io.Writer
	prefix string
}

// IsTerminal reports whether the wrapped writer is a terminal.
func (i indent) IsTerminal() bool { return IsTerminal(i.w) }

// Write implements io.Writer. text must be whole lines, or a status line.
func (i indent) Write(text []byte) (int, error) {
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, erase); ok {
			out.WriteString(erase)
			line = rest
		}
		out.WriteString(i.prefix + line)
	}
	if _, err := io.WriteString(i.w, out.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// About returns a rounded time for an estimate: "about 40 s", "about 9 min".
func About(d time.Duration) string {
	if d < 95*time.Second {
		return fmt.Sprintf("about %d s", max(int(d.Round(10*time.Second).Seconds()), 10))
	}
	return fmt.Sprintf("about %d min", int(d.Round(time.Minute).Minutes()))
}
