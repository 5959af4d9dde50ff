// This file holds Table: leases by address, by MAC and by the name of their VM.

package leases

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"

	"github.com/cldmnky/oooi/network"
)

// A Table holds at most one lease for each address. The zero Table is empty. It is safe for
// concurrent use. Do not copy it.
type Table struct {
	mu     sync.RWMutex
	leases map[netip.Addr]network.Lease
	byMAC  index
	byVM   index
	pages  pages
}

// An index holds the addresses for each MAC, or for each name of a VM.
type index map[string][]netip.Addr

func (x index) add(key string, a netip.Addr) {
	if key != "" {
		x[key] = append(x[key], a)
	}
}

func (x index) remove(key string, a netip.Addr) {
	all := slices.DeleteFunc(x[key], func(b netip.Addr) bool { return a == b })
	if len(all) == 0 {
		delete(x, key)
		return
	}
	x[key] = all
}

// Put adds l, in place of the lease on its address.
func (t *Table) Put(l network.Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leases == nil {
		t.leases, t.byMAC, t.byVM, t.pages = map[netip.Addr]network.Lease{}, index{}, index{}, pages{}
	}
	old, had := t.leases[l.Address]
	if !had || old.MAC != l.MAC {
		t.byMAC.remove(old.MAC, l.Address)
		t.byMAC.add(l.MAC, l.Address)
	}
	if !had || old.VM != l.VM {
		t.byVM.remove(old.VM, l.Address)
		t.byVM.add(l.VM, l.Address)
	}
	t.leases[l.Address] = l
	t.pages.put(l)
}

// Delete removes the lease on a, if there is one.
func (t *Table) Delete(a netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(a)
}

// remove is Delete for a caller that holds the lock.
func (t *Table) remove(a netip.Addr) {
	old, ok := t.leases[a]
	if !ok {
		return
	}
	t.byMAC.remove(old.MAC, a)
	t.byVM.remove(old.VM, a)
	delete(t.leases, a)
	t.pages.remove(a)
}

// DeleteIf removes l, if it is still the lease on its address.
func (t *Table) DeleteIf(l network.Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leases[l.Address] == l {
		t.remove(l.Address)
	}
}

// At returns the lease on an address, expired or not.
func (t *Table) At(a netip.Addr) (network.Lease, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	l, ok := t.leases[a]
	return l, ok
}

// Of returns the lease of a MAC: of several, the one that expires last, and then the one on the
// lowest address.
func (t *Table) Of(mac string) (network.Lease, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var best network.Lease
	for _, a := range t.byMAC[mac] {
		l := t.leases[a]
		if !best.Address.IsValid() || Later(l, best) {
			best = l
		}
	}
	return best, best.Address.IsValid()
}

// Later reports whether a expires after b, or at the same time on a lower address.
func Later(a, b network.Lease) bool {
	return cmp.Or(a.Expires.Compare(b.Expires), b.Address.Compare(a.Address)) > 0
}

// OfMAC returns all leases of a MAC, in no order.
func (t *Table) OfMAC(mac string) []network.Lease {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.at(t.byMAC[mac])
}

// OfVM returns all leases of the VM of this name, in no order.
func (t *Table) OfVM(name string) []network.Lease {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.at(t.byVM[name])
}

// OfVMs returns the leases of all VMs whose names are selected, in no order. selected is called
// once for each name, and must not use the table.
func (t *Table) OfVMs(selected func(name string) bool) []network.Lease {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []network.Lease
	for name, all := range t.byVM {
		if selected(name) {
			out = append(out, t.at(all)...)
		}
	}
	return out
}

// at returns the leases on these addresses. The caller holds the lock.
func (t *Table) at(all []netip.Addr) []network.Lease {
	out := make([]network.Lease, 0, len(all))
	for _, a := range all {
		out = append(out, t.leases[a])
	}
	return out
}

// All returns all leases, in no order.
func (t *Table) All() []network.Lease {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]network.Lease, 0, len(t.leases))
	for _, l := range t.leases {
		out = append(out, l)
	}
	return out
}

// Len returns the number of leases.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.leases)
}
