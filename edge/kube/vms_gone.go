// This file decides whether a VM has been gone for long enough.

package kube

import (
	"sync"
	"time"
)

// goneAfter is how long a VM must be gone before another VM may get its address. A restart of the VM
// under the same name takes less, even if the API server reports it late.
const goneAfter = 5 * time.Minute

// deletions remember when VMs were deleted, for goneAfter.
type deletions struct {
	now func() time.Time

	mu sync.Mutex
	at map[string]time.Time
	// complete is the time of the first complete list: before it, no deletion was seen. Zero: none yet.
	complete time.Time
	watch    interruption
}

// deleted records that a VM was deleted.
func (d *deletions) deleted(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for n, at := range d.at {
		if now.Sub(at) >= goneAfter {
			delete(d.at, n)
		}
	}
	if d.at == nil {
		d.at = map[string]time.Time{}
	}
	d.at[name] = now
}

// created records that a VM exists.
func (d *deletions) created(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.at, name)
}

// listed records that all VMs were read.
func (d *deletions) listed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.complete.IsZero() {
		d.complete = d.now()
	}
}

// answered records the result of a request to list or to watch VMs.
func (d *deletions) answered(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watch.answered(err, d.now())
}

// gone reports whether it is certain that a VM, which does not exist now, did not exist within
// goneAfter.
func (d *deletions) gone(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return !d.complete.IsZero() && now.Sub(d.complete) >= goneAfter && !d.watch.lasts(now) &&
		now.Sub(d.at[name]) >= goneAfter
}

// Gone reports whether no VM of this name has existed for five minutes. It is false while that is not
// certain: until five minutes after all VMs were read, and while VMs cannot be watched.
func (m *VMs) Gone(name string) bool {
	_, there, err := m.store.GetByKey(m.namespace + "/" + name)
	return !there && err == nil && m.index.Load().complete && m.deletions.gone(name)
}
