// This file remembers the writes of this edge: the leases that were written, and the addresses of failed writes.

package recent

import (
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/network"
)

// WroteFor is how long this edge remembers its writes. A MAC whose budget is spent must wait for
// less than this time.
const WroteFor = 8 * time.Second

// Wrote holds when this edge wrote each lease, in the last WroteFor and in the period before. Leases
// that differ only in times and version are the same lease here.
type Wrote struct {
	periods[map[network.Lease]time.Time]
}

// holder returns l without its times and version.
func holder(l network.Lease) network.Lease {
	return network.Lease{Address: l.Address, MAC: l.MAC, VM: l.VM}
}

// Add remembers that l was written at now.
func (w *Wrote) Add(l network.Lease, now time.Time) {
	l = holder(l)
	w.turn(now, WroteFor, func() map[network.Lease]time.Time { return map[network.Lease]time.Time{} })
	w.current[l] = now
}

// Lately reports whether this edge wrote l in the last WroteFor.
func (w *Wrote) Lately(l network.Lease, now time.Time) bool {
	l = holder(l)
	at, ok := w.current[l]
	if !ok {
		at, ok = w.former[l]
	}
	age := now.Sub(at)
	return ok && age >= 0 && age < WroteFor
}

// FailedFor is how long this edge remembers a failed write.
const FailedFor = 2 * time.Second

// Failed holds the addresses of failed writes, in the last FailedFor and in the period before.
type Failed struct{ periods[map[netip.Addr]bool] }

// Add remembers that the lease on a could not be written at now.
func (f *Failed) Add(a netip.Addr, now time.Time) {
	f.all(now)[a] = true
}

// Lately reports whether the lease on a could not be written in this period of FailedFor, or in the one before.
func (f *Failed) Lately(a netip.Addr, now time.Time) bool { return f.all(now)[a] || f.former[a] }

func (f *Failed) all(now time.Time) map[netip.Addr]bool {
	f.turn(now, FailedFor, func() map[netip.Addr]bool { return map[netip.Addr]bool{} })
	return f.current
}
