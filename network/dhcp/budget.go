// This file limits what the messages of one MAC cause: writes to the store, declined addresses and lines
// in the log. MACs are easily forged, so there are limits for all MACs together, too. A client that has a
// lease always renews it. The limits depend on messages, the time and chance.

package dhcp

import (
	"context"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/network"
)

const (
	// writesPerMAC in any writesWindow are at most one a second, four of them at once, and as many reads. A client
	// that starts needs two at once, and one that boots several times in a row a few more.
	writesPerMAC = 4
	writesWindow = 4 * time.Second
	// readsUnknown in any readsWindow are made before unknown clients are refused, all together.
	readsUnknown = 40
	readsWindow  = 20 * time.Second
	// declinesPerMAC in any declinesWindow are believed. A client that finds more conflicts is broken, or
	// hostile, or behind a router that answers all ARP requests.
	declinesPerMAC = 3
	declinesWindow = time.Hour
	// linesPerSecond are logged about all messages together, and one about each MAC and outcome.
	linesPerSecond = 50
	// counters bounds the memory of a budget: two bytes each.
	counters = 1 << 16
)

// A budget is a limit for each key, in any window of time: it counts what was spent in two periods, each as
// long as the window. Two keys that have one counter share its limit for at most two periods: their next
// counters differ. The zero value is full. It is not safe for concurrent use.
type budget struct{ periods[spent] }

// spent is what was spent in one period.
type spent struct {
	seed maphash.Seed
	by   [counters]uint8
}

func newSpent() spent { return spent{seed: maphash.MakeSeed()} }

func (s *spent) of(key string) *uint8 { return &s.by[maphash.String(s.seed, key)%counters] }

// spend takes cost from what is left for a key of a limit in any window. False: too little is left.
func (b *budget) spend(key string, cost, limit uint8, window time.Duration, now time.Time) bool {
	b.turn(now, window, newSpent)
	n := b.current.of(key)
	if int(*n)+int(*b.former.of(key))+int(cost) > int(limit) {
		return false
	}
	*n += cost
	return true
}

// The budgets of a server. The mutex of the server guards them.
type budgets struct {
	writes, declines, informs budget
	// reads are those before a refusal, of each MAC. What unknown clients spend of them together takes
	// nothing from the leases of other clients.
	reads   budget
	unknown allowance
	lines   lines
	wrote   wrote
}

// An allowance is a limit for all keys together, in any window of time. The zero value is full.
type allowance struct{ periods[int] }

func (a *allowance) spend(limit int, window time.Duration, now time.Time) bool {
	a.turn(now, window, func() int { return 0 })
	if a.current+a.former >= limit {
		return false
	}
	a.current++
	return true
}

// wroteFor is how long it is remembered what this edge wrote: longer than a MAC whose budget is spent waits
// for the next write.
const wroteFor = 2 * writesWindow

// wrote holds when this edge wrote leases in the last wroteFor, and in the period before, whatever their
// expiry.
type wrote struct {
	periods[map[network.Lease]time.Time]
}

// holder is what a lease of any time and version has.
func holder(l network.Lease) network.Lease {
	return network.Lease{Address: l.Address, MAC: l.MAC, VM: l.VM}
}

func (w *wrote) add(l network.Lease, now time.Time) {
	l = holder(l)
	w.turn(now, wroteFor, func() map[network.Lease]time.Time { return map[network.Lease]time.Time{} })
	w.current[l] = now
}

func (w *wrote) forget(l network.Lease) {
	l = holder(l)
	delete(w.current, l)
	delete(w.former, l)
}

// lately reports whether this edge wrote l in the last wroteFor.
func (w *wrote) lately(l network.Lease, now time.Time) bool {
	l = holder(l)
	at, ok := w.current[l]
	if !ok {
		at, ok = w.former[l]
	}
	age := now.Sub(at)
	return ok && age >= 0 && age < wroteFor
}

// afford returns v, or what becomes of it if its client has no budget for it. A reason means that the
// message is dropped. The caller holds the lock.
func (s *Server) afford(n network.Network, request *dhcpv4.DHCPv4, v Verdict) (_ Verdict, dropped drop) {
	now := s.Now()
	cost := uint8(0)
	for _, l := range []network.Lease{v.Next, v.Remove} {
		if l.Address.IsValid() {
			cost++
		}
	}
	// SELECTING and INIT-REBOOT are written in any case, so they are no renewals.
	holds := v.Outcome == Granted && v.Was.MAC == v.MAC && v.Was.Address == v.Next.Address
	newcomer := v.Outcome == Granted && !holds && v.VM == "" && s.UnknownClients != nil
	switch {
	case v.Confirm && !s.budgets.reads.spend(v.MAC, 1, writesPerMAC, writesWindow, now):
		return v, dropReads
	case v.Confirm && v.VM == "" && s.UnknownClients != nil && !s.budgets.unknown.spend(readsUnknown, readsWindow, now):
		return v, dropReads
	// Forged messages that are ignored leave the writes of their MAC to its client.
	case v.Outcome == Declined && !s.believes(n, v, now):
		return v.instead(DeclineIgnored), ""
	case cost == 0 || holds && uses(request):
		return v, ""
	// Adopting the address that a VM uses is no new lease: another message released it, and paid.
	case v.VM != "" && v.Outcome == Granted && uses(request):
		return v, ""
	case newcomer && s.UnknownClients.TokensAt(now) < 1:
		return v, dropUnknown
	case !s.budgets.writes.spend(v.MAC, cost, writesPerMAC, writesWindow, now):
		if v.Outcome == Released && s.budgets.wrote.lately(v.Remove, now) {
			// A client does not repeat it. It is free once for each lease that was written.
			s.budgets.wrote.forget(v.Remove)
			return v, ""
		}
		enough := !v.Was.Expires.Before(now.Add(time.Duration(n.DHCP.LeaseTime)))
		if holds && v.Was.VM == v.VM && enough && s.Store.Fresh() == nil && s.budgets.wrote.lately(v.Was, now) {
			// Another host may have spent it with this client's MAC. The lease is written, so the client gets it.
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

// believes reports whether a DECLINE counts: its client declined little lately, few addresses of the
// range are in quarantine, and VMs do not need this one. The caller holds the lock.
func (s *Server) believes(n network.Network, v Verdict, now time.Time) bool {
	if !s.budgets.declines.spend(v.MAC, 1, declinesPerMAC, declinesWindow, now) {
		return false
	}
	lost := 0
	for _, r := range poolOf(n) {
		_, quarantined := s.Store.Taken(r.First, r.Last, now, time.Duration(n.DHCP.LeaseTime))
		lost += quarantined
	}
	// The address is assigned now, so the client will need another one.
	return s.spare(n, s.known(n, now), lost) > 0
}

// lines counts what is logged in a second.
type lines struct {
	budget
	second  time.Time
	logged  int
	leftOut int
}

// permit reports whether a line about a key is logged now, and how many were left out in the second
// before.
func (l *lines) permit(key string, now time.Time) (_ bool, leftOut int) {
	if since := now.Sub(l.second); since < 0 || since >= time.Second {
		leftOut = l.leftOut
		l.second, l.logged, l.leftOut = now, 0, 0
	}
	if l.logged >= linesPerSecond || !l.spend(key, 1, 1, time.Second, now) {
		l.leftOut++
		return false, leftOut
	}
	l.logged++
	return true, leftOut
}

// line logs a line about a MAC, if few were logged for the same MAC and reason.
func (s *Server) line(level slog.Level, message, mac, reason string, more ...any) {
	if !s.Log.Enabled(context.Background(), level) {
		return
	}
	if level >= slog.LevelInfo {
		s.mu.Lock()
		ok, leftOut := s.budgets.lines.permit(mac+reason, s.Now())
		s.mu.Unlock()
		if leftOut > 0 {
			s.Log.Info("lines about DHCP messages left out", "count", leftOut)
		}
		if !ok {
			return
		}
	}
	s.Log.Log(context.Background(), level, message, append(more, "mac", mac)...)
}
