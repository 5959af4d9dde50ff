// This file measures the rows of rows_test.go, compares them with the goals, and writes the table.

package halfdead

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// variable is "worst" for the worst rows with brief faults, or "all" for all rows. No row
// runs without it: rows need a machine that does little else.
const variable = "OOOI_HALFDEAD"

// overBusy is the longest gap of a quiet row: with more the machine can't be measured on.
const overBusy = 2 * time.Second

// TestHalfDead measures $OOOI_EDGE_BINARY, built now if it is not set. It measures
// $OOOI_EDGE_BINARY_BEFORE too, without judging it. $OOOI_HALFDEAD_TABLE is a file that the
// table is appended to.
func TestHalfDead(t *testing.T) {
	which := os.Getenv(variable)
	if which != "worst" && which != "all" {
		t.Skip(variable + ` is not set: "make test-long" and "make bench-takeover" do`)
	}
	netns.Require(t, "nft", "setpriv", "mount")
	m := &measurement{now: newBuild(t, "now", programs.RequireOwn(t, wire.Program)), brief: which == "worst"}
	if file := os.Getenv("OOOI_EDGE_BINARY_BEFORE"); file != "" {
		m.before = newBuild(t, "before", file)
		m.before.oneInterface = true
	}
	table := m.table(t)
	t.Logf("the longest time without a new TLS connection, and cuts of the long connection that had most:\n%s", table)
	if file := os.Getenv("OOOI_HALFDEAD_TABLE"); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		defer func() { _ = f.Close() }()
		_, err = f.WriteString(table + "\n")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
}

// newBuild copies the programs to where any user may run them.
func newBuild(t *testing.T, name, program string) *build {
	t.Helper()
	g, dir, envoy := NewWithT(t), shared(t), programs.RequireEnvoy(t)
	b := &build{name: name, program: filepath.Join(dir, wire.Program), envoy: filepath.Join(dir, "envoy")}
	for from, to := range map[string]string{program: b.program, envoy: b.envoy} {
		out, err := exec.CommandContext(t.Context(), "cp", "--dereference", from, to).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	}
	return b
}

// A measurement is one run of several rows.
type measurement struct {
	now, before *build // before is nil if there is none
	brief       bool
	// quiet is the row in which nothing happens, nil before it was measured.
	quiet *measured
}

// measured is what VMs noticed of one fault, and how often edges announced.
type measured struct {
	measure.Row
	announcements int
	// logs are those of the failover agents.
	logs string
}

func (m measured) String() string {
	return fmt.Sprintf("%d ms, %d cuts", m.TLS.Milliseconds(), m.Cuts)
}

// table measures all rows. A row that fails is in the table too.
func (m *measurement) table(t *testing.T) string {
	var out strings.Builder
	out.WriteString("| fault | before | now | may be |\n| --- | --- | --- | --- |\n")
	for _, r := range rows() {
		if m.brief && !r.worst {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			before := ""
			if m.before != nil {
				before = r.text(m.measure(t, m.before, r))
			}
			now := m.judged(t, r)
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.name, before, r.text(now), r.limits())
		})
	}
	if m.quiet != nil {
		fmt.Fprintf(&out, "| nothing | | %s | |\n", m.quiet)
	}
	return out.String()
}

// text is what the table shows of a row.
func (r row) text(m measured) string {
	announcements := fmt.Sprintf("%d announcements", m.announcements)
	switch {
	case r.unmeasured:
		return announcements
	case r.silent:
		return m.String() + ", " + announcements
	}
	return m.String()
}

// limits are the row's bounds.
func (r row) limits() string {
	limits := fmt.Sprintf("%s, %d cuts", r.over, r.cuts)
	switch {
	case r.unmeasured:
		return "0 announcements"
	case r.silent:
		return limits + ", 0 announcements"
	}
	return limits
}

// judged measures a row and compares it with the quiet row. If it is out of bounds, the machine may have become busy
// since: the quiet row is measured again, the fault is not.
func (m *measurement) judged(t *testing.T, r row) measured {
	t.Helper()
	if m.quiet == nil {
		m.measureQuiet(t)
	}
	got := m.measure(t, m.now, r)
	if len(r.judge(*m.quiet, got)) > 0 {
		m.measureQuiet(t)
	}
	if exceeds := r.judge(*m.quiet, got); len(exceeds) > 0 {
		t.Errorf("%v; the quiet row of this run: %s\n%s", exceeds, m.quiet, got.logs)
	}
	return got
}

// judge says what is out of the row's bounds.
func (r row) judge(quiet, got measured) (exceeds []string) {
	if !r.unmeasured {
		exceeds = measure.Judge(quiet.Row, got.Row, measure.Bounds{Over: r.over, Cuts: r.cuts})
	}
	if r.silent && got.announcements > 0 {
		exceeds = append(exceeds, fmt.Sprintf("edges announced %d times", got.announcements))
	}
	if r.moves && got.announcements == 0 {
		exceeds = append(exceeds, "no edge announced: is there a fault?")
	}
	return exceeds
}

// TestJudge: a row in which VMs must move fails if no edge announced, since its fault did not
// happen then. A row in which none may fails if one did.
func TestJudge(t *testing.T) {
	g, quiet := NewWithT(t), measured{}
	g.Expect(row{moves: true, over: time.Second}.judge(quiet, measured{})).To(HaveLen(1))
	g.Expect(row{moves: true, over: time.Second}.judge(quiet, measured{announcements: 1})).To(BeEmpty())
	g.Expect(row{silent: true, over: time.Second}.judge(quiet, measured{announcements: 1})).To(HaveLen(1))
	g.Expect(row{silent: true, over: time.Second}.judge(quiet, measured{})).To(BeEmpty())
}

// measureQuiet measures what the busy machine itself adds: the yardstick of all other rows is the worst that was seen.
func (m *measurement) measureQuiet(t *testing.T) {
	t.Helper()
	got := m.measure(t, m.now, quiet())
	NewWithT(t).Expect(got.Cuts).To(BeZero(), "cuts while nothing happens")
	NewWithT(t).Expect(got.TLS).To(BeNumerically("<", overBusy), "a gap while nothing happens")
	if m.quiet != nil {
		got.Row = got.Worse(m.quiet.Row)
	}
	m.quiet = &got
}

// measure lets one fault happen on a new site.
func (m *measurement) measure(t *testing.T, b *build, r row) (got measured) {
	t.Helper()
	// A test of its own, so that the site is removed before the next one.
	if !t.Run(b.name, func(t *testing.T) {
		s := newSite(t, b, r)
		if r.prepare != nil {
			r.prepare(s)
		}
		for _, edge := range r.on {
			s.newVM(edge, r.onLink)
		}
		stop := s.measure()
		announced := s.announcements()
		end := r.begin(s)
		length := r.lasts
		if m.brief {
			length = r.brief
		}
		s.wait(length)
		end()
		s.settles(3 * time.Second)
		got.announcements, got.logs = s.announcements()-announced, s.edges[1].log(wire.Failover)+s.edges[2].log(wire.Failover)
		for i, report := range stop() {
			t.Logf("VM %d, at first on edge %d: %+v", i+1, r.on[i], report)
			one := report.Row()
			got.TLS, got.Cuts, got.Back = max(got.TLS, one.TLS), max(got.Cuts, one.Cuts), max(got.Back, one.Back)
		}
	}) {
		t.FailNow()
	}
	return got
}
