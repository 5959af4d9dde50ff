// This file answers which VM has an address from the leases that another container caches, for a
// server without access to the API server. It reads only when it is asked.

package edge

import (
	"encoding/json"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/cldmnky/oooi/network"
)

// LeaseNames are the names of the VMs in a cache of leases.
type LeaseNames struct {
	mu     sync.Mutex
	file   sharedFile
	byAddr map[netip.Addr]network.Lease
}

// NewLeaseNames returns the names in the file of Leases.KeepCache. It need not exist yet.
func NewLeaseNames(file string, log *slog.Logger) *LeaseNames {
	return &LeaseNames{file: sharedFile{name: file, limit: maxLeaseFile, log: log, unread: "cached leases not read"}}
}

// VMAt returns the name of the VM that holds an unexpired lease on a. Empty: none.
func (n *LeaseNames) VMAt(a netip.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refresh()
	if l, ok := n.byAddr[a]; ok && l.Held(time.Now()) {
		return l.VM
	}
	return ""
}

// refresh reads the file if it has changed, and else keeps the last known good names. The caller
// holds the lock.
func (n *LeaseNames) refresh() {
	n.file.follow(func(b []byte) error {
		var all []network.Lease
		if err := json.Unmarshal(b, &all); err != nil {
			return err
		}
		n.byAddr = make(map[netip.Addr]network.Lease, len(all))
		for _, l := range all {
			n.byAddr[l.Address] = l
		}
		return nil
	})
}
