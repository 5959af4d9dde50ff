// This file reads the leases that another container caches, for a server without access to the API
// server. Only lookups read the file.

package sharedfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/network"
)

// lookInterval is how long an answer may be older than the file: a flood of lookups makes few system
// calls.
const lookInterval = 20 * time.Millisecond

// LeaseNames are the names of the VMs in a cache of leases. It is safe for concurrent use.
type LeaseNames struct {
	index atomic.Pointer[leaseIndex]
	// started is when LeaseNames was made. looked is how long after that the file was last checked.
	started time.Time
	looked  atomic.Int64
	// reading is held while the file is read.
	reading sync.Mutex
	file    Shared
}

// NewLeaseNames returns the names in the cache file of kube.Leases. The file need not exist yet.
func NewLeaseNames(file string, log *slog.Logger) *LeaseNames {
	return &LeaseNames{started: time.Now(), file: Shared{Name: file, Limit: maxLeaseFile, Log: log, Unread: "cached leases not read"}}
}

// ReadLeases returns the leases in file, none if it is missing.
func ReadLeases(file string) ([]network.Lease, error) {
	shared := Shared{Name: file, Limit: maxLeaseFile}
	b, err := shared.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []network.Lease
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("cached leases: %w", err)
	}
	return all, nil
}

// VMAt returns the name of the VM that holds an unexpired lease on an address. Empty: none.
func (n *LeaseNames) VMAt(a netip.Addr) string {
	if l, ok := n.current().byAddr[a]; ok && l.Held(time.Now()) {
		return l.VM
	}
	return ""
}

// VMNamed returns the addresses on which the VM of this name, in lower case, holds an unexpired
// lease, in order. exists reports whether a VM with a lease has this name, or a name that ends with
// a dot and this name.
func (n *LeaseNames) VMNamed(name string) (addresses []netip.Addr, exists bool) {
	x, now := n.current(), time.Now()
	for _, l := range x.byVM[name] {
		if l.Held(now) {
			addresses = append(addresses, l.Address)
		}
	}
	return addresses, addresses != nil || x.hasBelow(name, now)
}

// HasMAC reports whether the VM with a MAC, in lower case with colons, holds an unexpired lease.
func (n *LeaseNames) HasMAC(mac string) bool {
	expires, ok := n.current().byMAC[mac]
	return ok && time.Now().Before(expires)
}

// VMHas reports whether the VM at an address also holds an unexpired lease for a MAC, in lower case with colons.
func (n *LeaseNames) VMHas(a netip.Addr, mac string) bool {
	now := time.Now()
	return slices.ContainsFunc(n.current().byVM[strings.ToLower(n.VMAt(a))], func(l network.Lease) bool { return l.MAC == mac && l.Held(now) })
}

// Leased returns the addresses on which VMs hold an unexpired lease, in order.
func (n *LeaseNames) Leased() (addresses []netip.Addr) {
	now := time.Now()
	for _, l := range n.current().ofVMs {
		if l.Held(now) {
			addresses = append(addresses, l.Address)
		}
	}
	return addresses
}

// current returns the leases in the file as they were lookInterval ago, or later.
func (n *LeaseNames) current() *leaseIndex {
	x := n.index.Load()
	if x != nil && time.Since(n.started)-time.Duration(n.looked.Load()) < lookInterval {
		return x
	}
	switch {
	case x == nil:
		n.reading.Lock()
	case !n.reading.TryLock():
		return x // Another lookup reads the file now.
	}
	defer n.reading.Unlock()
	n.file.Follow(func(b []byte) error {
		var all []network.Lease
		if err := json.Unmarshal(b, &all); err != nil {
			return err
		}
		n.index.Store(newLeaseIndex(all))
		return nil
	})
	if n.index.Load() == nil {
		n.index.Store(newLeaseIndex(nil))
	}
	n.looked.Store(int64(time.Since(n.started)))
	return n.index.Load()
}

// A leaseIndex holds leases by address and by VM. It does not change.
type leaseIndex struct {
	byAddr map[netip.Addr]network.Lease
	// ofVMs are the leases of VMs in the order of addresses.
	ofVMs []network.Lease
	// byVM has lists in the order of addresses, by the VM's name in lower case.
	byVM map[string][]network.Lease
	// byMAC has the end of the last lease of each VM.
	byMAC map[string]time.Time
	// dotted are the leases of VMs with a dot in their name, sorted by the reversed name.
	dotted []dottedLease
}

type dottedLease struct {
	reversed string
	network.Lease
}

func newLeaseIndex(all []network.Lease) *leaseIndex {
	x := &leaseIndex{
		byAddr: make(map[netip.Addr]network.Lease, len(all)), byVM: make(map[string][]network.Lease, len(all)), byMAC: make(map[string]time.Time, len(all)),
	}
	for _, l := range all {
		x.byAddr[l.Address] = l
	}
	for _, l := range x.byAddr {
		if l.VM != "" {
			x.ofVMs = append(x.ofVMs, l)
		}
	}
	slices.SortFunc(x.ofVMs, func(a, b network.Lease) int { return a.Address.Compare(b.Address) })
	for _, l := range x.ofVMs {
		name := strings.ToLower(l.VM)
		x.byVM[name] = append(x.byVM[name], l)
		if l.Expires.After(x.byMAC[l.MAC]) {
			x.byMAC[l.MAC] = l.Expires
		}
		if strings.Contains(name, ".") {
			x.dotted = append(x.dotted, dottedLease{reversed(name), l})
		}
	}
	slices.SortFunc(x.dotted, func(a, b dottedLease) int { return strings.Compare(a.reversed, b.reversed) })
	return x
}

// hasBelow reports whether a VM whose name ends with a dot and name has an unexpired lease.
func (x *leaseIndex) hasBelow(name string, now time.Time) bool {
	if len(x.dotted) == 0 {
		return false
	}
	above := reversed(name) + "."
	i, _ := slices.BinarySearchFunc(x.dotted, above, func(l dottedLease, s string) int { return strings.Compare(l.reversed, s) })
	for ; i < len(x.dotted) && strings.HasPrefix(x.dotted[i].reversed, above); i++ {
		if x.dotted[i].Held(now) {
			return true
		}
	}
	return false
}

// reversed returns s from its last byte to its first.
func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}
