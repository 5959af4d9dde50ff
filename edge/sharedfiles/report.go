// This file passes the report of an edge from a container without access to the API server to
// the one that writes it there. It does not decide the content.

package sharedfiles

import (
	"cmp"
	"context"
	"log/slog"
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
	// report is the writer's own, once known. The proxy, the NTP server and the access proxy add the fields of added.
	report  reported.EdgeReport
	known   bool
	added   reported.EdgeReport
	written string
	// at is when written was stored.
	at time.Time
}

// reportFileEvery is how often a report that stays the same is stored again: its age says that the writer lives.
const reportFileEvery = 20 * time.Second

// NewReportFile returns a ReportFile that replaces the named file.
func NewReportFile(name string, log *slog.Logger) *ReportFile {
	return &ReportFile{name: name, log: log}
}

// Set replaces the report, except for what the other methods add. A failed write is retried at the next call. An equal
// report is stored again after 20 s.
func (f *ReportFile) Set(r reported.EdgeReport) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report, f.known = r, true
	if time.Since(f.at) >= reportFileEvery {
		f.written = ""
	}
	f.write()
}

// SetRefusedHosts replaces the refused hosts of the report.
func (f *ReportFile) SetRefusedHosts(hosts []string) {
	f.add(func(r *reported.EdgeReport) { r.RefusedHosts = hosts })
}

// SetEnvoyRefuses replaces what Envoy refuses of its configuration. Zero: nothing.
func (f *ReportFile) SetEnvoyRefuses(what reported.Refusal) {
	f.add(func(r *reported.EdgeReport) { r.EnvoyRefuses = what })
}

// SetDarkBackends replaces the backends without a usable endpoint.
func (f *ReportFile) SetDarkBackends(names []string) {
	f.add(func(r *reported.EdgeReport) { r.DarkBackends = names })
}

// SetConnected sets whether hosts on the network have connections, as in reported.EdgeReport.
func (f *ReportFile) SetConnected(connected string) {
	f.add(func(r *reported.EdgeReport) { r.Connected = connected })
}

// SetClockUnsynchronized replaces why clients do not follow the clock of the node. Zero: they do.
func (f *ReportFile) SetClockUnsynchronized(why reported.ClockFault) {
	f.add(func(r *reported.EdgeReport) { r.ClockUnsynchronized = why })
}

// SetAccessPorts replaces the ports that the edge has opened for load balancers, and those for callers that it cannot open.
func (f *ReportFile) SetAccessPorts(balanced, closed []uint16) {
	f.add(func(r *reported.EdgeReport) { r.Balanced, r.ClosedPorts = balanced, closed })
}

// add replaces fields that the writer's own report gets.
func (f *ReportFile) add(set func(*reported.EdgeReport)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	set(&f.added)
	f.write()
}

// write stores the report of its parts. The caller holds the lock.
func (f *ReportFile) write() {
	if !f.known {
		return
	}
	r := f.report
	r.RefusedHosts = slices.Concat(r.RefusedHosts, f.added.RefusedHosts)
	r.DarkBackends = slices.Concat(r.DarkBackends, f.added.DarkBackends)
	r.ClockUnsynchronized = cmp.Or(r.ClockUnsynchronized, f.added.ClockUnsynchronized)
	r.EnvoyRefuses = cmp.Or(r.EnvoyRefuses, f.added.EnvoyRefuses)
	r.Connected = cmp.Or(r.Connected, f.added.Connected)
	r.Balanced = slices.Concat(r.Balanced, f.added.Balanced)
	r.ClosedPorts = slices.Concat(r.ClosedPorts, f.added.ClosedPorts)
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

// FollowReport passes each report in the named file to set until ctx ends, an equal one, too, if it was stored again. A file that holds no
// report changes nothing.
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
