// A row of the failover table is out of bounds when it should be, and only then.

package measure

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestJudge(t *testing.T) {
	const ms = time.Millisecond
	quiet := Row{TLS: 100 * ms, DNS: 90 * ms, NTP: 80 * ms, DHCP: 95 * ms}
	busy := Row{TLS: 1500 * ms, DNS: 90 * ms, NTP: 80 * ms, DHCP: 95 * ms}
	unplanned, planned := Bounds{Over: 4 * time.Second, Cuts: 1}, Bounds{Over: time.Second, Cuts: 1}
	for name, tc := range map[string]struct {
		quiet, row Row
		bounds     Bounds
		exceeds    string // "" is a pass
	}{
		"as quiet":                  {quiet, quiet, planned, ""},
		"failover in 1.6 s":         {quiet, Row{TLS: 1568 * ms, DNS: 1555 * ms, DHCP: 1550 * ms, Cuts: 1, Back: 9 * ms}, unplanned, ""},
		"the last that passes":      {quiet, Row{TLS: 4100 * ms, DNS: 4090 * ms, DHCP: 4095 * ms, Cuts: 1, Back: 4 * time.Second}, unplanned, ""},
		"TLS":                       {quiet, Row{TLS: 4101 * ms}, unplanned, "new TLS connections: a gap of 4101 ms, more than 4100 ms (quiet row 100 ms + 4s)"},
		"DNS":                       {quiet, Row{DNS: 14 * time.Second}, unplanned, "DNS answers: "},
		"NTP":                       {quiet, Row{NTP: 4081 * ms}, unplanned, "NTP answers: a gap of 4081 ms, more than 4080 ms"},
		"only NTP is bad, in quiet": {Row{NTP: 501 * ms}, Row{NTP: 5 * time.Second}, unplanned, "NTP answers: "},
		"DHCP":                      {quiet, Row{DHCP: 14 * time.Second}, unplanned, "DHCP renewals: "},
		"1.6 s, planned":            {quiet, Row{TLS: 1568 * ms}, planned, "more than 1100 ms"},
		"slow to reconnect":         {quiet, Row{Cuts: 1, Back: 5 * time.Second}, unplanned, "reconnecting: "},
		"cut twice":                 {quiet, Row{Cuts: 2}, unplanned, "cut 2 times, more than 1"},
		"busy, and within":          {busy, Row{TLS: 2464 * ms}, planned, ""},
		"busy, and out of bounds":   {busy, Row{TLS: 2501 * ms}, planned, "more than 2500 ms"},
		"a cut without any fault":   {Row{TLS: 100 * ms, Cuts: 1}, Row{Cuts: 2}, planned, "cut 2 times"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			exceeds := Judge(tc.quiet, tc.row, tc.bounds)
			if tc.exceeds == "" {
				g.Expect(exceeds).To(BeEmpty())
				return
			}
			g.Expect(strings.Join(exceeds, "\n")).To(ContainSubstring(tc.exceeds))
		})
	}
}

func TestRowIsTheWorstOfAReport(t *testing.T) {
	g := NewWithT(t)
	ms := func(n int) Milliseconds { return Milliseconds(time.Duration(n) * time.Millisecond) }
	r := Report{
		TLS: Summary{LongestGap: ms(3)}, DNS: Summary{LongestGap: ms(2)}, NTP: Summary{LongestGap: ms(6)}, DHCP: Renewals{Summary: Summary{LongestGap: ms(1)}},
		Long: []LongConnection{{Cuts: []Cut{{Back: ms(9)}}}, {Cuts: []Cut{{Back: ms(4)}, {Back: ms(5)}}}, {}},
	}
	g.Expect(r.Row()).To(Equal(Row{TLS: 3 * time.Millisecond, DNS: 2 * time.Millisecond, NTP: 6 * time.Millisecond, DHCP: time.Millisecond, Cuts: 2, Back: 9 * time.Millisecond}))
}
