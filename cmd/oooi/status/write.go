// This file writes an Output as text.

package status

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/explain"
)

// manyRows is the largest number of rows of a table that are listed without --all.
const manyRows = 10

// write writes r in the format output. Parameter all is true to list all rows of long tables. Parameter first is false
// after another output.
func (r Output) write(w io.Writer, output string, all, first bool) error {
	if output != command.FormatText {
		return command.WriteData(w, output, r)
	}
	var b strings.Builder
	if !first {
		fmt.Fprintln(&b)
	}
	if r.vm != "" {
		r.vmText(&b)
	} else {
		r.text(&b, all)
	}
	return command.WriteText(w, b.String())
}

func (r Output) text(w io.Writer, all bool) {
	boot := map[explain.Answer]string{explain.Yes: "nodes boot", explain.No: "nodes do not boot", explain.Unknown: "it is unknown whether nodes boot"}
	command.Line(w, "HostedCluster %s: %s", r.Cluster, boot[r.Boot.Answer])
	command.Line(w, "  %s", r.Boot.Why)
	if c := r.Condition; c == nil {
		command.Line(w, "NetworkReady: unknown")
	} else {
		outdated := map[explain.Answer]string{explain.No: ", for earlier settings", explain.Unknown: ", perhaps for earlier settings"}
		command.Line(w, "NetworkReady: %s (%s) since %s%s", c.Status, c.Reason, c.Since.Format(time.RFC3339), outdated[c.Current.Answer])
		for _, m := range c.Message {
			command.Line(w, "  %s", m)
		}
	}
	for _, n := range r.Networks {
		n.text(w, all)
	}
	if len(r.Networks) == 0 {
		command.Line(w, "No network is known to be served.")
	}
	command.Section(w, "Networks that are not in the plan", len(r.Other))
	leaseTable(w, r.Other, all)
	command.Section(w, "Problems", len(r.Problems))
	for _, p := range r.Problems {
		p.text(w)
	}
	command.Section(w, "Recent warnings", len(r.Events)+len(r.EventsUnread))
	for _, e := range r.Events {
		command.Line(w, "  %s %s: %s: %s", e.Time.Format(time.RFC3339), e.Object, e.Reason, e.Text)
	}
	for _, u := range r.EventsUnread {
		command.Line(w, "  %s", u)
	}
	command.Section(w, "Notes", len(r.Notes))
	for _, n := range r.Notes {
		command.Line(w, "  %s", n)
	}
	command.Section(w, "Unknown", len(r.Unread))
	for _, u := range r.Unread {
		command.Line(w, "  %s", u)
	}
}

func (p statusProblem) text(w io.Writer) {
	command.Line(w, "  %s %s: %s See %s", p.Severity, p.Reason, p.Text, p.Page)
}

func (n Network) text(w io.Writer, all bool) {
	use := "VMs boot from it"
	if !n.Primary {
		use = "an additional network"
	}
	command.Line(w, "")
	command.Line(w, "Network %s (%s): %s. Next-hop VIP %s, service VIP %s", n.Name, n.CIDR, use, n.NextHopVIP, n.ServiceVIP)
	var edges [][]string
	for _, e := range n.Edges {
		edges = append(edges, []string{fmt.Sprint(e.Number), e.Address.String(), string(e.Ready), string(e.CarriesVMs), cmp.Or(e.NotServing, e.Level, e.silence(), "unknown")})
	}
	table(w, "EDGE\tADDRESS\tREADY\tCARRIES VMS\tREPORTS", edges)
	targetTable(w, "NAME", "endpoints", n.Endpoints, all)
	targetTable(w, "ALLOWED HOST", "allowed hosts", n.Hosts, all)
	if slices.ContainsFunc(n.Hosts, func(t Target) bool { return t.Resolves == explain.Unknown }) {
		command.Line(w, "  Edges report an allowed host only if they refuse its address. Whether the others resolve is unknown.")
	}
	n.Access.text(w, all)
	n.bootTable(w, all)
	n.leaseText(w, all)
}

func (n Network) leaseText(w io.Writer, all bool) {
	switch {
	case n.Leases == nil:
		command.Line(w, "  DHCP leases: unknown")
	case len(n.Leases) == 0:
		command.Line(w, "  No DHCP leases.")
	}
	leaseTable(w, n.Leases, all)
}

// targetTable writes a table of targets. If there are more than manyRows and parameter all is false, it writes at most
// manyRows faulty ones, and counts of targets.
func targetTable(w io.Writer, head, what string, targets []Target, all bool) {
	var rows, faulty [][]string
	unknown := 0
	for _, t := range targets {
		rows = append(rows, t.row())
		switch t.State {
		case StateFine:
		case StateUnknown:
			unknown++
		default:
			faulty = append(faulty, t.row())
		}
	}
	longTable(w, head+"\tADDRESS\tBACKEND\tHEALTH", all, rows, faulty, fmt.Sprintf("%d %s: %d with a fault, %d unknown", len(rows), what, len(faulty), unknown))
}

// longTable writes a table of rows. If there are more than manyRows and parameter all is false, it writes at most
// manyRows of those in important, and then sentence.
func longTable(w io.Writer, head string, all bool, rows, important [][]string, sentence string) {
	if all || len(rows) <= manyRows {
		table(w, head, rows)
		return
	}
	table(w, head, important[:min(len(important), manyRows)])
	command.Line(w, "  %s. --all shows each.", sentence)
}

// silence says since when e has not reported, or since when it has been unavailable. Empty: neither is known.
func (e Edge) silence() string {
	switch {
	case e.ReportedLast != nil:
		return "unknown: no report since " + e.ReportedLast.Format(time.RFC3339)
	case e.UnavailableSince != nil:
		return "unavailable since " + e.UnavailableSince.Format(time.RFC3339)
	}
	return ""
}

// leaseTable writes a table of leases. If there are more than manyRows and parameter all is false, it writes how many
// there are in each state.
func leaseTable(w io.Writer, leases []statusLease, all bool) {
	states := map[string]int{}
	var rows [][]string
	for _, l := range leases {
		states[l.State]++
		rows = append(rows, []string{l.Address.String(), cmp.Or(l.VM, "-"), cmp.Or(l.MAC, "-"), l.Until.Format(time.RFC3339), l.State})
	}
	var words []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		words = append(words, fmt.Sprintf("%d %s", states[state], state))
	}
	longTable(w, "LEASE\tVM\tMAC\tUNTIL\tSTATE", all, rows, nil, fmt.Sprintf("%d DHCP leases: %s", len(leases), strings.Join(words, ", ")))
}

func (t Target) row() []string {
	return []string{cmp.Or(strings.Join(t.Names, ", "), "any name"), t.Address.String(), t.Backend, t.Health}
}

// table writes rows under head, whose columns are separated by tabs. Without rows, it writes nothing.
func table(w io.Writer, head string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  "+head)
	for _, r := range rows {
		for i := range r {
			r[i] = command.Printable(r[i])
		}
		fmt.Fprintln(t, "  "+strings.Join(r, "\t"))
	}
	_ = t.Flush() // writes to memory do not fail
}
