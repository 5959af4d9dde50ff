// This file limits the writes to the store, the declined addresses and the log lines that the messages of one
// MAC cause. MACs are easily forged, so there are limits for all MACs together, too. A client that has a lease
// always renews it.

package dhcp

import (
	"context"
	"log/slog"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/recent"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

const (
	// writesPerMAC limits the writes that one MAC causes in any writesWindow, and separately its reads: one per
	// second on average. A client that starts needs two at once, and a client that boots several times in a row a
	// few more.
	writesPerMAC = 4
	writesWindow = recent.WroteFor / 2
	// readsUnknown limits the reads of the store that all unknown clients together cause in any readsWindow. A read
	// precedes each refusal.
	readsUnknown = 40
	readsWindow  = 20 * time.Second
	// declinesPerMAC is how many declines of a MAC are accepted in any declinesWindow. A client that finds more
	// conflicts is broken, hostile, or behind a router that answers all ARP requests.
	declinesPerMAC = 3
	declinesWindow = time.Hour
)

// budgets are guarded by the server's mutex.
type budgets struct {
	writes, declines, informs recent.Budget
	// Field reads limits the reads of the store for each MAC, and field unknown those for all unknown clients
	// together.
	reads   recent.Budget
	unknown recent.Allowance
	lines   recent.Lines
	wrote   recent.Wrote
}

// afford returns v, or another verdict if the budget of the client does not suffice. dropped is why the
// message is dropped, or empty. The caller holds the lock.
func (s *Server) afford(n network.Network, request *dhcpv4.DHCPv4, v reply.Verdict) (_ reply.Verdict, dropped drop) {
	now := s.Now()
	cost := uint8(0)
	for _, l := range []network.Lease{v.Next, v.Remove} {
		if l.Address.IsValid() {
			cost++
		}
	}
	// In SELECTING and INIT-REBOOT the lease is always written, so these do not count as renewals.
	holds := v.Outcome == reply.Granted && v.Was.MAC == v.MAC && v.Was.Address == v.Next.Address
	newcomer := v.Outcome == reply.Granted && !holds && v.VM == "" && s.UnknownClients != nil
	switch {
	case v.Confirm && !s.budgets.reads.Spend(v.MAC, 1, writesPerMAC, writesWindow, now):
		return v, dropReads
	case v.Confirm && v.VM == "" && s.UnknownClients != nil && !s.budgets.unknown.Spend(readsUnknown, readsWindow, now):
		return v, dropReads
	// An ignored DECLINE, which may be forged, does not use up the writes of the MAC.
	case v.Outcome == reply.Declined && !s.believes(n, v, now):
		return v.Instead(reply.DeclineIgnored), ""
	case cost == 0 || holds && reply.Uses(request):
		return v, ""
	// Adopting the address that a VM already uses does not count as a new lease.
	case v.VM != "" && v.Outcome == reply.Granted && reply.Uses(request):
		return v, ""
	case newcomer && s.UnknownClients.TokensAt(now) < 1:
		return v, dropUnknown
	case !s.budgets.writes.Spend(v.MAC, cost, writesPerMAC, writesWindow, now):
		enough := !v.Was.Expires.Before(now.Add(time.Duration(n.DHCP.LeaseTime)))
		if holds && v.Was.VM == v.VM && enough && s.Store.Fresh() == nil && s.budgets.wrote.Lately(v.Was, now) {
			// Another host may have spent the budget with this client's MAC. The lease is already written, so grant it.
			v.Next, v.Remove = network.Lease{}, network.Lease{}
			return v, ""
		}
		return v, dropWrites
	}
	if newcomer {
		s.UnknownClients.AllowN(now, 1)
	}
	return v, ""
}

// believes reports whether a DECLINE is accepted. Its client must have sent only a few recently, few addresses
// of the range may be in quarantine, and VMs must not need this address. The caller holds the lock.
func (s *Server) believes(n network.Network, v reply.Verdict, now time.Time) bool {
	if !s.budgets.declines.Spend(v.MAC, 1, declinesPerMAC, declinesWindow, now) {
		return false
	}
	lost := 0
	for _, r := range reply.Ranges(n) {
		_, quarantined := s.Store.Taken(r.First, r.Last, now, time.Duration(n.DHCP.LeaseTime))
		lost += quarantined
	}
	// The declined address is in use now, so the client will need another one.
	return s.spare(n, s.known(n, now), lost) > 0
}

// line logs a line about a MAC, unless too many were logged for the same MAC and reason.
func (s *Server) line(level slog.Level, message, mac, reason string, more ...any) {
	if !s.Log.Enabled(context.Background(), level) {
		return
	}
	if level >= slog.LevelInfo {
		s.mu.Lock()
		ok, leftOut := s.budgets.lines.Permit(mac+reason, s.Now())
		s.mu.Unlock()
		if leftOut > 0 {
			s.Log.Info("log lines about DHCP messages dropped", "count", leftOut)
		}
		if !ok {
			return
		}
	}
	s.Log.Log(context.Background(), level, message, append(more, "mac", mac)...)
}
