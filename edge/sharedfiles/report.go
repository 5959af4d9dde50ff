// This file passes the report of an edge from a container without access to the API server to the container that writes it
// there.

package sharedfiles

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cldmnky/oooi/reported"
)

// A ReportFile stores one report in a file.
type ReportFile struct {
	name string
	log  *slog.Logger

	mu sync.Mutex
	// report is the writer's own report, once known. parts add fields to it.
	report  reported.EdgeReport
	known   bool
	parts   map[string]func(*reported.EdgeReport)
	written string
	// Field at is when the content of field written was stored.
	at time.Time
}

// reportFileEvery is how often an unchanged report is stored again: its age shows whether the writer lives.
const reportFileEvery = 20 * time.Second

// NewReportFile returns a ReportFile that replaces the named file.
func NewReportFile(name string, log *slog.Logger) *ReportFile {
	return &ReportFile{name: name, log: log, parts: map[string]func(*reported.EdgeReport){}}
}

// Set replaces the report, except for what Add adds. It retries a failed write, and stores an equal report again after 20 s.
func (f *ReportFile) Set(r reported.EdgeReport) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report, f.known = r, true
	if time.Since(f.at) >= reportFileEvery {
		f.written = ""
	}
	f.write()
}

// Add makes function set replace the fields of one part of the report, until the next call for that part.
func (f *ReportFile) Add(part string, set func(*reported.EdgeReport)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts[part] = set
	f.write()
}

// write makes the report from its parts and stores it. The caller holds the lock.
func (f *ReportFile) write() {
	if !f.known {
		return
	}
	r := f.report
	for _, part := range slices.Sorted(maps.Keys(f.parts)) {
		r = r.With(f.parts[part])
	}
	text := string(r.JSON())
	if text == f.written {
		return
	}
	if err := Replace(f.name, []byte(text)); err != nil {
		f.log.Warn("report not stored", "file", f.name, "err", err)
		return
	}
	f.written, f.at = text, time.Now()
}

// FollowReport calls function set with each report that is stored in the named file, also an unchanged one, until ctx ends.
func FollowReport(ctx context.Context, name string, set func(reported.EdgeReport), log *slog.Logger) {
	file := Shared{Name: name, Limit: maxReportFile, Log: log, Unread: "report not read"}
	file.followUntil(ctx, func(b []byte) error {
		r, err := reported.Read(b)
		if err == nil {
			set(r)
		}
		return err
	})
}
