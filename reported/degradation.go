// This file has Degradation: why a failover announcement of an edge has no effect.

package reported

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A Degradation is why failover announcements of an edge have no effect. Zero: they work.
type Degradation struct {
	// Cause is FailoverAnnouncementIgnored, FailoverTargetsAnswered or
	// FailoverCheckFailed. Empty: announcements work.
	Cause problem.Cause `json:"cause"`
	// ARPAnnounce is the sysctl arp_announce of the edge. Source is the address from which its kernel sends ARP
	// requests, and the only one that it can announce. Only FailoverAnnouncementIgnored has these values.
	ARPAnnounce int        `json:"arpAnnounce,omitempty"`
	Source      netip.Addr `json:"source,omitzero"`
	// Error is why the edge could not check. Only FailoverCheckFailed has an Error.
	Error string `json:"error,omitempty"`
}

// failedCheck returns the Degradation of a check that failed with the error text. It returns the zero value if text is empty.
func failedCheck(text string) Degradation {
	if text = phrase(text); text == "" {
		return Degradation{}
	}
	return Degradation{Cause: problem.FailoverCheckFailed, Error: text}
}

// normalized returns d with only the values of its cause. A cause that lacks its values becomes a failed check. So does
// an unknown cause, as a newer edge may report.
func (d Degradation) normalized() Degradation {
	switch {
	case d.Cause == "":
		return Degradation{}
	case d.Cause == problem.FailoverAnnouncementIgnored && d.Source.Is4():
		return Degradation{Cause: d.Cause, ARPAnnounce: d.ARPAnnounce, Source: d.Source}
	case d.Cause == problem.FailoverTargetsAnswered:
		return Degradation{Cause: d.Cause}
	case d.Cause == problem.FailoverCheckFailed && d.Error != "":
		return failedCheck(d.Error)
	}
	return failedCheck(strings.Join(slices.DeleteFunc([]string{string(d.Cause), d.Error}, func(s string) bool { return s == "" }), ": "))
}

// FailoverDegraded returns the problem that VMs use this edge of n, which subject names, only some time after a
// failover. It is never an Error, since everything is served. If Source is the next-hop VIP, traffic to that VIP moves
// immediately, but hosts that reach the service VIP directly wait.
func FailoverDegraded(n network.Network, edge int, subject problem.Subject, d Degradation) problem.Problem {
	args := problem.Args{"edge": {strconv.Itoa(edge)}, "nextHop": {n.NextHopVIP.String()}}
	d = d.normalized()
	cause := d.Cause
	switch {
	case cause == problem.FailoverAnnouncementIgnored:
		args["serviceVIP"], args["arpAnnounce"], args["source"] = []string{n.ServiceVIP.String()}, []string{strconv.Itoa(d.ARPAnnounce)}, []string{d.Source.String()}
		if d.Source == n.NextHopVIP {
			cause = problem.FailoverServiceVIPIgnored
		}
	case cause == problem.FailoverCheckFailed:
		args["error"] = []string{d.Error}
	}
	return n.Problem(cause, args).Of(subject)
}
