// This file decides whether the values in a row of the failover table are acceptable. It is pure.

package measure

import (
	"fmt"
	"time"
)

// A Row is one line of the failover table: what VMs notice of one fault.
type Row struct {
	// TLS, DNS, NTP and DHCP are the longest gaps of each kind of request. They are 0 if no such requests were sent.
	TLS, DNS, NTP, DHCP time.Duration
	// Cuts is the number of cuts of the long connection that was cut most often.
	Cuts int
	// Back is the longest time until a cut connection was open again.
	Back time.Duration
}

// Row returns the row for r.
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

// Worse returns a row with the larger value of r and o in each field.
func (r Row) Worse(o Row) Row {
	return Row{
		TLS: max(r.TLS, o.TLS), DNS: max(r.DNS, o.DNS), NTP: max(r.NTP, o.NTP), DHCP: max(r.DHCP, o.DHCP),
		Cuts: max(r.Cuts, o.Cuts), Back: max(r.Back, o.Back),
	}
}

// Bounds are the limits of a row.
type Bounds struct {
	// Over is how much longer each gap may be than that of the quiet row. It also limits how long a cut connection may take to
	// be open again.
	Over time.Duration
	// Cuts is how often each long connection may be cut.
	Cuts int
}

// Judge returns a sentence for each value of row that exceeds b. quiet is the row of the same run that was measured without a
// fault.
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
