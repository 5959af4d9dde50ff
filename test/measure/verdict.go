// What a row of the failover table may show. A decision over values: nothing is measured here.

package measure

import (
	"fmt"
	"time"
)

// Row is one line of the failover table: what VMs notice of one fault.
type Row struct {
	// TLS, DNS, NTP and DHCP are the longest times without a new connection, an answer of either and a renewal. What was not
	// asked is 0.
	TLS, DNS, NTP, DHCP time.Duration
	// Cuts of the long connection that had most.
	Cuts int
	// Back is the longest time that a cut connection took to have another.
	Back time.Duration
}

// Row sums up a report.
func (r Report) Row() Row {
	row := Row{
		TLS: time.Duration(r.TLS.LongestGap), DNS: time.Duration(r.DNS.LongestGap),
		NTP: time.Duration(r.NTP.LongestGap), DHCP: time.Duration(r.DHCP.LongestGap),
	}
	for _, l := range r.Long {
		row.Cuts = max(row.Cuts, len(l.Cuts))
		for _, c := range l.Cuts {
			row.Back = max(row.Back, time.Duration(c.Back))
		}
	}
	return row
}

// Worse has the longer of both rows' gaps, and the most cuts.
func (r Row) Worse(o Row) Row {
	return Row{
		TLS: max(r.TLS, o.TLS), DNS: max(r.DNS, o.DNS), NTP: max(r.NTP, o.NTP), DHCP: max(r.DHCP, o.DHCP),
		Cuts: max(r.Cuts, o.Cuts), Back: max(r.Back, o.Back),
	}
}

// Bounds is what a fault may cost.
type Bounds struct {
	// Over is how much longer each gap may be than the quiet row's, and how long a cut connection may take to have another.
	Over time.Duration
	// Cuts of each long connection.
	Cuts int
}

// Judge compares a row with the quiet row of the same run, one without any fault, and says which figures are out of bounds.
func Judge(quiet, row Row, b Bounds) (exceeds []string) {
	for _, gap := range []struct {
		what            string
		quiet, measured time.Duration
	}{
		{"new TLS connections", quiet.TLS, row.TLS}, {"DNS answers", quiet.DNS, row.DNS}, {"NTP answers", quiet.NTP, row.NTP},
		{"DHCP renewals", quiet.DHCP, row.DHCP}, {"reconnecting", 0, row.Back},
	} {
		if most := gap.quiet + b.Over; gap.measured > most {
			exceeds = append(exceeds, fmt.Sprintf("%s: a gap of %d ms, more than %d ms (quiet row %d ms + %s)",
				gap.what, gap.measured.Milliseconds(), most.Milliseconds(), gap.quiet.Milliseconds(), b.Over))
		}
	}
	if row.Cuts > b.Cuts {
		exceeds = append(exceeds, fmt.Sprintf("a connection was cut %d times, more than %d", row.Cuts, b.Cuts))
	}
	return exceeds
}
