// This file passes the report of an edge from a container without access to the API server to
// the one that writes it there. It does not decide the content.

package edge

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/cldmnky/oooi/network"
)

// A ReportFile stores one report in a file.
type ReportFile struct {
	name string
	log  *slog.Logger

	mu      sync.Mutex
	written string
}

// NewReportFile returns a ReportFile that replaces the named file.
func NewReportFile(name string, log *slog.Logger) *ReportFile {
	return &ReportFile{name: name, log: log}
}

// Set replaces the report. A failed write is retried at the next call.
func (f *ReportFile) Set(r network.Report) {
	text := string(r.JSON())
	f.mu.Lock()
	defer f.mu.Unlock()
	if text == f.written {
		return
	}
	if err := ReplaceFile(f.name, []byte(text)); err != nil {
		f.log.Warn("report not stored", "file", f.name, "err", err)
		return
	}
	f.written = text
}

// FollowReport passes each report in the named file to set until ctx ends. A file that holds no
// report changes nothing.
func FollowReport(ctx context.Context, name string, set func(network.Report), log *slog.Logger) {
	file, tick, failed := sharedFile{name: name}, time.NewTicker(readInterval), ""
	defer tick.Stop()
	for {
		b, err := file.read()
		if err == nil && b != nil {
			var r network.Report
			if r, err = network.ReadReport(b); err == nil {
				set(r)
				failed = ""
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && failed != err.Error() {
			failed = err.Error()
			log.Warn("report of the failover agent not read", "file", name, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
