package sharedfiles_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	_ "github.com/cldmnky/oooi/test/patience"
)

// TestNamesOfAnotherContainer: DNS knows a VM when DHCP has stored its lease.
func TestNamesOfAnotherContainer(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), wire.LeaseCache)
	said := gbytes.NewBuffer()
	names, at := sharedfiles.NewLeaseNames(file, slog.New(slog.NewTextHandler(said, nil))), netip.MustParseAddr("192.168.100.10")
	vm := func() string { return names.VMAt(at) }
	g.Expect(vm()).To(BeEmpty())
	store := func(text string) { g.Expect(sharedfiles.Replace(file, []byte(text))).To(Succeed()) }
	store(`[{"address":"192.168.100.10","mac":"02:00:00:00:00:01","vm":"blue-1","expires":"2999-01-01T00:00:00Z"}]`)
	g.Eventually(vm, "1m", "1ms").Should(Equal("blue-1"))
	store(`[{"addr`)
	g.Eventually(func() *gbytes.Buffer { vm(); return said }, "1m").Should(gbytes.Say("cached leases not read"))
	g.Expect(vm()).To(Equal("blue-1"), "the last known good names")
	g.Expect(os.Truncate(file, 64<<20)).To(Succeed())
	g.Eventually(func() *gbytes.Buffer { vm(); return said }, "1m").Should(gbytes.Say("cached leases not read.*at most"), "not every error is a missing file")
	g.Consistently(vm, "100ms").Should(Equal("blue-1"))
	g.Expect(said).NotTo(gbytes.Say("cached leases not read"), "one error is logged once")
	store(`[{"address":"192.168.100.10","mac":"02:00:00:00:00:01","vm":"blue-2","expires":"2001-01-01T00:00:00Z"}]`)
	g.Eventually(vm, "1m").Should(BeEmpty(), "expired")
}

// TestAddressesOfVMs: a VM has the addresses of its unexpired leases. An unknown client has no name, whatever it
// calls itself.
func TestAddressesOfVMs(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), wire.LeaseCache)
	text := "["
	for i, l := range []struct{ vm, year string }{
		{"blue-1", "2999"}, {"blue-1", "2001"}, {"blue-1", "2999"}, {"old", "2001"}, {"", "2999"}, {"a.pool", "2999"}, {"b.old.pool", "2001"}, {"xpool", "2999"},
	} {
		text += fmt.Sprintf(`{"address":"192.168.100.%d","mac":"02:00:00:00:00:0%d","vm":"%s","expires":"%s-01-01T00:00:00Z"},`, 30-i, i, l.vm, l.year)
	}
	g.Expect(sharedfiles.Replace(file, []byte(text[:len(text)-1]+"]"))).To(Succeed())
	names := sharedfiles.NewLeaseNames(file, slog.New(slog.NewTextHandler(t.Output(), nil)))
	for vm, want := range map[string]string{
		"blue-1":     "[192.168.100.28 192.168.100.30] true",
		"old":        "[] false",
		"blue":       "[] false",
		"":           "[] false",
		"a.pool":     "[192.168.100.25] true",
		"pool":       "[] true",
		"ool":        "[] false",
		"old.pool":   "[] false",
		"b.old.pool": "[] false",
		"xpool":      "[192.168.100.23] true",
	} {
		g.Expect(fmt.Sprint(names.VMNamed(vm))).To(Equal(want), vm)
	}
	g.Expect(fmt.Sprint(names.Leased())).To(Equal("[192.168.100.23 192.168.100.25 192.168.100.28 192.168.100.30]"), "without unknown clients")
	for i, want := range []bool{true, false, true, false, false, true, false, true, false} {
		g.Expect(names.HasMAC(fmt.Sprintf("02:00:00:00:00:0%d", i))).To(Equal(want), "MAC %d: only a VM with a lease", i)
	}
}

// TestHostileReportFile: the failover agent's container gets nothing read that only the reader may
// read, and cannot make the reader wait.
func TestHostileReportFile(t *testing.T) {
	report := reported.EdgeReport{Edge: 1, Peer: reported.PeerServing}
	for name, plant := range map[string]func(file, secret string) error{
		"a link to a report that only the reader has": func(file, secret string) error { return os.Symlink(secret, file) },
		"a pipe":      func(file, _ string) error { return syscall.Mkfifo(file, 0o600) },
		"a directory": func(file, _ string) error { return os.Mkdir(file, 0o700) },
		"a file of 64 MiB": func(file, _ string) error {
			if err := os.WriteFile(file, report.JSON(), 0o600); err != nil {
				return err
			}
			return os.Truncate(file, 64<<20)
		},
		"a report with an unknown number": func(file, _ string) error { return os.WriteFile(file, []byte(`{"edge":99}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "token")
			file := filepath.Join(dir, wire.ReportFile)
			g.Expect(os.WriteFile(secret, report.JSON(), 0o600)).To(Succeed())
			g.Expect(plant(file, secret)).To(Succeed())
			got, said := make(chan reported.EdgeReport, 10), gbytes.NewBuffer()
			go sharedfiles.FollowReport(t.Context(), file, func(r reported.EdgeReport) { got <- r }, slog.New(slog.NewTextHandler(said, nil)))
			g.Eventually(said, "1m").Should(gbytes.Say("report not read"))
			g.Expect(got).NotTo(Receive())
			g.Expect(os.RemoveAll(file)).To(Succeed())
			g.Expect(sharedfiles.Replace(file, report.JSON())).To(Succeed())
			g.Eventually(got, "1m").Should(Receive(Equal(report)))
		})
	}
}

// TestHostileReportFileCostsNoMemory: a report that the failover agent's container makes as long as
// other files may be is not read. It would be read again at each change of its time.
func TestHostileReportFileCostsNoMemory(t *testing.T) {
	g := NewWithT(t)
	file, said := filepath.Join(t.TempDir(), wire.ReportFile), gbytes.NewBuffer()
	g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
	g.Expect(os.Truncate(file, 32<<20)).To(Succeed())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go sharedfiles.FollowReport(t.Context(), file, func(reported.EdgeReport) {}, slog.New(slog.NewTextHandler(said, nil)))
	g.Eventually(said, "1m").Should(gbytes.Say("report not read"))
	runtime.ReadMemStats(&after)
	g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 8<<20), "bytes")
}

// TestReportFileIsWrittenOnce: an unchanged report costs nothing.
func TestReportFileIsWrittenOnce(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), wire.ReportFile)
	f := sharedfiles.NewReportFile(file, slog.New(slog.NewTextHandler(t.Output(), nil)))
	f.Set(reported.EdgeReport{Edge: 1})
	before, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	f.Set(reported.EdgeReport{Edge: 1})
	after, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.SameFile(before, after)).To(BeTrue())
}

// TestReportOfSeveralContainers: the failover agent's report has what the proxy and the NTP server
// found, whichever comes first.
func TestReportOfSeveralContainers(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), wire.ReportFile)
	f := sharedfiles.NewReportFile(file, slog.New(slog.NewTextHandler(t.Output(), nil)))
	stored := func() reported.EdgeReport {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		r, err := reported.Read(text)
		g.Expect(err).NotTo(HaveOccurred())
		return r
	}
	f.Add("proxy", func(r *reported.EdgeReport) { r.RefusedHosts = []string{"b:443", "a:443", "b:443"} })
	g.Expect(file).NotTo(BeAnExistingFile(), "nothing is known of the edge")
	f.Set(reported.EdgeReport{Edge: 1, Deaf: true})
	g.Expect(stored()).To(Equal(reported.EdgeReport{Edge: 1, Deaf: true, RefusedHosts: []string{"a:443", "b:443"}}))
	f.Add("proxy", func(r *reported.EdgeReport) { r.RefusedHosts = nil })
	g.Expect(stored()).To(Equal(reported.EdgeReport{Edge: 1, Deaf: true}))
	f.Add("ntp", func(r *reported.EdgeReport) {
		r.ClockUnsynchronized = reported.ClockFault{Cause: problem.ClockUnread, Error: "adjtimex: not\npermitted."}
	})
	g.Expect(stored()).To(Equal(reported.EdgeReport{Edge: 1, Deaf: true, ClockUnsynchronized: reported.ClockFault{Cause: problem.ClockUnread, Error: "adjtimex: not permitted"}}))
	f.Set(reported.EdgeReport{Edge: 1})
	g.Expect(stored()).To(Equal(reported.EdgeReport{Edge: 1, ClockUnsynchronized: reported.ClockFault{Cause: problem.ClockUnread, Error: "adjtimex: not permitted"}}), "each keeps its part")
	f.Add("envoy", func(r *reported.EdgeReport) {
		r.EnvoyRefuses = reported.Refusal{Type: "listener", Name: "x", Error: "said\n twice"}
	})
	g.Expect(stored().EnvoyRefuses).To(Equal(reported.Refusal{Type: "listener", Name: "x", Error: "said twice"}))
	f.Add("access", func(r *reported.EdgeReport) { r.RefusedHosts = []string{strings.Repeat("<", reported.MaxBytes/2)} })
	f.Add("dark", func(r *reported.EdgeReport) { r.DarkBackends = []string{"a"} })
	g.Expect(stored().EnvoyRefuses.Type).To(Equal("listener"), "a part that is too long hides no other")
	g.Expect(stored().DarkBackends).To(Equal([]string{"a"}))
	g.Expect(stored().RefusedHosts).To(BeEmpty())
	f.Add("dark", func(*reported.EdgeReport) {})
	f.Add("envoy", func(r *reported.EdgeReport) { r.EnvoyRefuses = reported.Refusal{} })
	f.Add("ntp", func(r *reported.EdgeReport) { r.ClockUnsynchronized = reported.ClockFault{} })
	g.Expect(stored()).To(Equal(reported.EdgeReport{Edge: 1}))
}
