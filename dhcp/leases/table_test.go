package leases_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/network"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

const leaseTime = time.Hour

// A model answers like a Table from a plain map.
type model map[netip.Addr]network.Lease

func (m model) of(selected func(network.Lease) bool) []network.Lease {
	var out []network.Lease
	for _, l := range m {
		if selected(l) {
			out = append(out, l)
		}
	}
	return sorted(out)
}

func (m model) first(first, last netip.Addr, is func(network.Lease, bool) bool) netip.Addr {
	for a := first; a.Compare(last) <= 0; a = a.Next() {
		if l, ok := m[a]; is(l, ok) {
			return a
		}
	}
	return netip.Addr{}
}

func sorted(all []network.Lease) []network.Lease {
	slices.SortFunc(all, func(a, b network.Lease) int { return a.Address.Compare(b.Address) })
	return all
}

// TestTable: after any sequence of changes, each index answers as a plain list of all leases
// would.
func TestTable(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		var table leases.Table
		want := model{}
		// Three pages, the last one never full.
		at := func() netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(3)), byte(250 + r.IntN(6))}) }
		name := func(of string) string {
			if n := r.IntN(6); n > 0 {
				return fmt.Sprint(of, n)
			}
			return ""
		}
		for step := range 1000 {
			if a := at(); r.IntN(3) == 0 {
				table.Delete(a)
				delete(want, a)
			} else {
				l := network.Lease{Address: a, MAC: name("mac"), VM: name("vm"), Expires: now.Add(time.Duration(r.IntN(20)-15) * 10 * time.Minute)}
				if r.IntN(4) == 0 {
					l.Expires = l.Expires.Add(time.Duration(r.IntN(2)) * time.Nanosecond)
				}
				table.Put(l)
				want[a] = l
			}
			compare(t, fmt.Sprint("seed ", seed, " step ", step), &table, want, at, name)
		}
	}
}

func compare(t *testing.T, when string, table *leases.Table, want model, at func() netip.Addr, name func(string) string) {
	t.Helper()
	mac, vm, a := name("mac"), name("vm"), at()
	first, last := at(), at()
	equal := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: %s is %v, not %v", when, what, got, want)
		}
	}
	l, ok := table.At(a)
	equal("At", fmt.Sprint(l, ok), fmt.Sprint(want[a], want[a].Address.IsValid()))
	equal("All", sorted(table.All()), want.of(func(network.Lease) bool { return true }))
	equal("Len", table.Len(), len(want))
	ofMAC := want.of(func(l network.Lease) bool { return mac != "" && l.MAC == mac })
	equal("OfMAC", sorted(table.OfMAC(mac)), ofMAC)
	var best network.Lease
	for _, l := range ofMAC {
		if l.Expires.After(best.Expires) {
			best = l
		}
	}
	l, _ = table.Of(mac)
	equal("Of", l, best)
	equal("OfVM", sorted(table.OfVM(vm)), want.of(func(l network.Lease) bool { return vm != "" && l.VM == vm }))
	equal("OfVMs", sorted(table.OfVMs(func(n string) bool { return n == vm })), want.of(func(l network.Lease) bool { return vm != "" && l.VM == vm }))
	unassigned, _ := table.Unassigned(first, last)
	equal("Unassigned", unassigned, want.first(first, last, func(_ network.Lease, ok bool) bool { return !ok }))
	free, _ := table.Free(first, last, now, leaseTime)
	isFree := func(l network.Lease, ok bool) bool { return ok && l.Free(now, leaseTime, false) }
	equal("Free", free, want.first(first, last, isFree))
	taken, quarantined := table.Taken(first, last, now, leaseTime)
	held := want.of(func(l network.Lease) bool {
		return first.Compare(l.Address) <= 0 && l.Address.Compare(last) <= 0 && !isFree(l, true)
	})
	equal("Taken", taken, len(held))
	equal("in quarantine", quarantined, len(slices.DeleteFunc(held, func(l network.Lease) bool { return l.MAC != "" })))
}

// TestAddressesBeyondIPv4: a lease on an IPv6 address is found by its address and its MAC.
func TestAddressesBeyondIPv4(t *testing.T) {
	var table leases.Table
	l := network.Lease{Address: netip.MustParseAddr("fd00::1"), MAC: "02:00:00:00:00:01", Expires: now}
	table.Put(l)
	if got, ok := table.Of(l.MAC); !ok || got != l {
		t.Errorf("got %v", got)
	}
	table.Delete(l.Address)
	if table.Len() != 0 {
		t.Error("not deleted")
	}
}

// TestEndOfTheAddresses: a search ends at the last address that exists.
func TestEndOfTheAddresses(t *testing.T) {
	var table leases.Table
	last := netip.MustParseAddr("255.255.255.255")
	table.Put(network.Lease{Address: last, MAC: "02:00:00:00:00:01", Expires: now.Add(time.Hour)})
	if a, ok := table.Unassigned(last, last); ok {
		t.Errorf("%s is unassigned", a)
	}
	if a, ok := table.Free(last.Prev(), last, now, leaseTime); ok {
		t.Errorf("%s is free", a)
	}
}
