// This file records the output of the demo with its times, so that it can be replayed.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The size of the recorded terminal, in characters.
const (
	recordedColumns = 120
	recordedRows    = 40
)

// A recorder is a writer to to that also writes a recording to cast. The format is asciicast v2: a header, and a line for each
// write with the seconds since the start (https://docs.asciinema.org/manual/asciicast/v2/).
type recorder struct {
	to   io.Writer
	cast io.Writer
	now  func() time.Time
	from time.Time
}

// newRecorder returns a recorder, and writes the header to cast.
func newRecorder(to, cast io.Writer, title string, now func() time.Time) (*recorder, error) {
	r := &recorder{to: to, cast: cast, now: now, from: now()}
	return r, r.line(map[string]any{"version": 2, "width": recordedColumns, "height": recordedRows, "title": title})
}

// record returns a writer to out that also records to the file at path. The caller must call done at the end.
func record(out io.Writer, path, title string) (w io.Writer, done func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, nil, fmt.Errorf("DEMO_RECORD: %w", err)
	}
	r, err := newRecorder(out, f, title, time.Now)
	return r, f.Close, err
}

// Write implements io.Writer. In the recording, line feeds become CR LF, as a terminal driver sends them.
func (r *recorder) Write(text []byte) (int, error) {
	shown := strings.ReplaceAll(string(text), "\n", "\r\n")
	if err := r.line([]any{r.now().Sub(r.from).Seconds(), "o", shown}); err != nil {
		return 0, err
	}
	return r.to.Write(text)
}

func (r *recorder) line(v any) error { return json.NewEncoder(r.cast).Encode(v) }
