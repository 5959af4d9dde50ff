// This file holds DHCPReport, what the DHCP server of an edge observes, and the problems that follow. VMs influence the
// content, so its size is limited, and no problem is an Error.

package reported

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A DHCPReport is what users must know about the DHCP server of one edge. Zero: nothing, or there is no report yet.
type DHCPReport struct {
	// Exhausted describes the pool while a client gets no address because none is free.
	Exhausted PoolExhaustion `json:"exhausted,omitzero"`
	// NotWritten is why leases cannot be written. Zero: they are written.
	NotWritten LeasesUnwritten `json:"notWritten,omitzero"`
	// InUse are addresses in the pool that hosts without a lease use, at most 16. An unknown MAC is empty.
	InUse []UsedAddress `json:"inUse,omitempty"`
	// Reserved are reserved addresses that other clients have, while their own clients have other addresses. At most 16.
	Reserved []ReservationInUse `json:"reserved,omitempty"`
}

// PoolExhaustion describes a pool from which clients get no address. Its Free addresses are avoided: hosts without a
// lease answered for them.
type PoolExhaustion struct {
	// Since is when the first client got no address. Whole seconds, UTC.
	Since time.Time `json:"since,omitzero"`
	PoolUse
}

// PoolUse counts the addresses of a pool that DHCP may assign. Size is the sum of the other fields.
type PoolUse struct {
	Size int `json:"size"`
	// Assigned addresses have a valid lease, or one that ended so recently that a client may still use the address.
	Assigned int `json:"assigned"`
	// Declined addresses are in quarantine, because another host uses them.
	Declined int `json:"declined"`
	// Free addresses can be assigned to a VM.
	Free int `json:"free"`
}

// LeasesUnwritten is why an edge cannot write leases.
type LeasesUnwritten struct {
	// Since is when the first write of a new lease failed, or RenewalsSince if that is set. Whole seconds, UTC.
	Since time.Time `json:"since,omitzero"`
	// RenewalsSince is when the first write of a renewed lease failed. Zero: renewals are written,
	// or no renewal was due.
	RenewalsSince time.Time `json:"renewalsSince,omitzero"`
	// Error is the reason for the last failure, in one line without names. Empty: unknown.
	Error string `json:"error,omitempty"`
}

// A ReservationInUse is a reserved address that another client has.
type ReservationInUse struct {
	UsedAddress
	// ReservedFor is the MAC of the client that the address is reserved for.
	ReservedFor string `json:"reservedFor"`
}

// IsZero reports whether there is nothing to report.
func (r DHCPReport) IsZero() bool {
	return r.Exhausted.Since.IsZero() && r.NotWritten.Since.IsZero() && len(r.InUse) == 0 && len(r.Reserved) == 0
}

// normalized returns r as it is stored: sorted, limited, in whole seconds.
func (r DHCPReport) normalized() DHCPReport {
	for _, at := range []*time.Time{&r.Exhausted.Since, &r.NotWritten.Since, &r.NotWritten.RenewalsSince} {
		*at = at.UTC().Truncate(time.Second)
	}
	r.NotWritten.Error = oneLine(r.NotWritten.Error)
	if r.Exhausted.Since.IsZero() {
		r.Exhausted = PoolExhaustion{}
	}
	if r.NotWritten.Since.IsZero() {
		r.NotWritten = LeasesUnwritten{}
	}
	r.InUse = sortedInUse(r.InUse)
	reserved := slices.Clone(r.Reserved)
	slices.SortFunc(reserved, func(a, b ReservationInUse) int {
		return cmp.Or(a.Compare(b.UsedAddress), strings.Compare(a.ReservedFor, b.ReservedFor))
	})
	reserved = slices.Compact(reserved)
	r.Reserved = reserved[:min(len(reserved), maxInUse)]
	return r
}

func (r DHCPReport) validate() error {
	all := slices.Clone(r.InUse)
	for _, x := range r.Reserved {
		if !network.IsMAC(x.ReservedFor) {
			return errors.New("not a report: dhcp.reserved has an invalid MAC")
		}
		all = append(all, x.UsedAddress)
	}
	for _, x := range all {
		if !x.Address.Is4() || x.MAC != "" && !network.IsMAC(x.MAC) {
			return errors.New("not a report: dhcp has an invalid IPv4 address or MAC")
		}
	}
	u := r.Exhausted.PoolUse
	if min(u.Size, u.Assigned, u.Declined, u.Free) < 0 {
		return errors.New("not a report: dhcp has a negative number")
	}
	return nil
}

// DHCP returns the problems that the DHCP servers of n's running edges report. nameOf returns the VM with a MAC, or "".
// subjectOf returns the subject of problems of an edge.
func DHCP(n network.Network, edges []EdgeReport, nameOf func(mac string) string, subjectOf func(edge int) problem.Subject) problem.Problems {
	var ps problem.Problems
	if x := exhaustion(edges); !x.Since.IsZero() {
		ps = append(ps, n.Problem(problem.PoolExhausted, problem.Args{
			"since": {x.Since.Format(time.RFC3339)}, "size": {strconv.Itoa(x.Size)}, "used": {strconv.Itoa(x.Assigned)},
			"declined": {strconv.Itoa(x.Declined)}, "avoided": {strconv.Itoa(x.Free)},
		}, network.KeyDHCPRange))
	}
	for _, r := range edges {
		if x := r.DHCP.NotWritten; !x.Since.IsZero() {
			ps = append(ps, unwritten(n, r.Edge, x).Of(subjectOf(r.Edge)))
		}
	}
	return slices.Concat(ps, poolInUse(n, edges, nameOf), reservationsInUse(n, edges, nameOf))
}

// unwritten returns the problem that an edge cannot write leases. Clients keep their addresses for at least one lease
// time after the first failed write: each lease that was stored before allowed renewals for most of a lease time, and
// clients renew before 7/8 of it.
func unwritten(n network.Network, edge int, x LeasesUnwritten) problem.Problem {
	cause, args := problem.EdgeLeasesUnwritten, problem.Args{"edge": {strconv.Itoa(edge)}, "since": {x.Since.Format(time.RFC3339)}, "error": {cmp.Or(x.Error, "unknown error")}}
	if !x.RenewalsSince.IsZero() {
		cause = problem.EdgeRenewalsUnwritten
		args["since"] = []string{x.RenewalsSince.Format(time.RFC3339)}
		args["until"] = []string{x.RenewalsSince.Add(time.Duration(n.DHCP.LeaseTime)).Format(time.RFC3339)}
	}
	return n.Problem(cause, args)
}

func exhaustion(edges []EdgeReport) PoolExhaustion {
	var first PoolExhaustion
	for _, r := range edges {
		if x := r.DHCP.Exhausted; !x.Since.IsZero() && (first.Since.IsZero() || x.Since.Before(first.Since)) {
			first = x
		}
	}
	return first
}

func poolInUse(n network.Network, edges []EdgeReport, nameOf func(mac string) string) problem.Problems {
	var all []UsedAddress
	for _, r := range edges {
		all = append(all, r.DHCP.InUse...)
	}
	byMAC, located := map[string][]string{}, map[string]bool{}
	all = sortedInUse(all)
	for _, u := range all {
		located[u.Address.String()] = located[u.Address.String()] || u.MAC != ""
	}
	for _, u := range all {
		if a := u.Address.String(); u.MAC != "" || !located[a] {
			byMAC[u.MAC] = append(byMAC[u.MAC], a)
		}
	}
	var ps problem.Problems
	for _, u := range all {
		addresses := byMAC[u.MAC]
		delete(byMAC, u.MAC)
		if len(addresses) == 0 {
			continue
		}
		cause, args := problem.PoolAddressDeclined, problem.Args{"addresses": addresses}
		if u.MAC != "" {
			cause, args["mac"], args["owner"] = problem.PoolAddressOfHost, []string{u.MAC}, []string{owner(u.MAC, nameOf)}
		}
		ps = append(ps, n.Problem(cause, args, network.KeyDHCPExclude))
	}
	return ps
}

func reservationsInUse(n network.Network, edges []EdgeReport, nameOf func(mac string) string) problem.Problems {
	var all []ReservationInUse
	for _, r := range edges {
		all = append(all, r.DHCP.Reserved...)
	}
	var ps problem.Problems
	for _, x := range (DHCPReport{Reserved: all}).normalized().Reserved {
		user := "an unknown host"
		if vm := nameOf(x.MAC); x.MAC != "" && vm != "" {
			user = "VM " + vm + " (MAC " + x.MAC + ")"
		} else if x.MAC != "" {
			user = "the host with MAC " + x.MAC
		}
		ps = append(ps, n.Problem(problem.ReservationUsed, problem.Args{"address": {x.Address.String()}, "reserved": {x.ReservedFor}, "user": {user}}, network.KeyReservations))
	}
	return ps
}
