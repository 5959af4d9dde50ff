// This file passes the report of an edge from a container without access to the API server to
// the one that writes it there. It does not decide the content.

package edge

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cldmnky/oooi/network"
)

// A ReportFile stores one report in a file.
type ReportFile struct {
	name string
	log  *slog.Logger

	mu sync.Mutex
	// report is the writer's own, once known. The proxy adds refused, refuses, dark
	// and connected, and the NTP server unsynchronized.
	report         network.Report
	known          bool
	refused        []string
	unsynchronized string
	refuses        string
	dark           []string
	connected      string
	written        string
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
func (f *ReportFile) Set(r network.Report) {
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
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = hosts
	f.write()
}

// SetEnvoyRefuses replaces what Envoy refuses of its configuration. Empty: nothing.
func (f *ReportFile) SetEnvoyRefuses(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuses = what
	f.write()
}

// SetDarkBackends replaces the backends of which no endpoint can be used.
func (f *ReportFile) SetDarkBackends(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dark = names
	f.write()
}

// SetConnected replaces whether hosts on the network have connections, as in network.Report.
func (f *ReportFile) SetConnected(connected string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connected = connected
	f.write()
}

// SetClockUnsynchronized replaces why clients do not follow the clock of the node. Empty: they do.
func (f *ReportFile) SetClockUnsynchronized(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsynchronized = why
	f.write()
}

// write stores the report of its parts. The caller holds the lock.
func (f *ReportFile) write() {
	if !f.known {
		return
	}
	r := f.report
	r.RefusedHosts = slices.Concat(r.RefusedHosts, f.refused)
	r.DarkBackends = slices.Concat(r.DarkBackends, f.dark)
	r.ClockUnsynchronized = cmp.Or(r.ClockUnsynchronized, f.unsynchronized)
	r.EnvoyRefuses = cmp.Or(r.EnvoyRefuses, f.refuses)
	r.Connected = cmp.Or(r.Connected, f.connected)
	text := string(r.JSON())
	if text == f.written {
		return
	}
	if err := ReplaceFile(f.name, []byte(text)); err != nil {
		f.log.Warn("report not stored", "file", f.name, "err", err)
		return
	}
	f.written, f.at = text, time.Now()
}

// FollowReport passes each report in the named file to set until ctx ends, an equal one, too, if it was stored again. A file that holds no
// report changes nothing.
func FollowReport(ctx context.Context, name string, set func(network.Report), log *slog.Logger) {
	file := sharedFile{name: name, limit: maxReportFile, log: log, unread: "report not read"}
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	for {
		file.follow(func(b []byte) error {
			r, err := network.ReadReport(b)
			if err == nil {
				set(r)
			}
			return err
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
