// This file decides since when a VM is gone: which names of VMs were deleted when, and whether the edge
// would know if there was a new VM of that name.

package kube

import (
	"sync"
	"time"
)

const (
	// goneAfter is how long a VM must not have existed before its address is given away. KubeVirt
	// deletes the object of a VM after its last process. The time covers a restart under the same
	// name, and an API server that is slow to say so.
	goneAfter = 5 * time.Minute
	// settleAfter is the time in which the watch reports what happened while it was interrupted.
	settleAfter = 10 * time.Second
)

// deletions remember when VMs were deleted, for goneAfter.
type deletions struct {
	now func() time.Time

	mu sync.Mutex
	at map[string]time.Time
	// complete is the time of the first complete list: before it, deletions were not seen. Zero:
	// there was none yet.
	complete time.Time
	// failed: the last request to list or watch VMs failed. After one that succeeds, everything is
	// known at settled.
	failed  bool
	settled time.Time
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
	if err == nil && d.failed {
		d.settled = d.now().Add(settleAfter)
	}
	d.failed = err != nil
}

// gone reports whether a VM that does not exist has not existed for goneAfter, for certain.
func (d *deletions) gone(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return !d.complete.IsZero() && now.Sub(d.complete) >= goneAfter && !d.failed && !now.Before(d.settled) &&
		now.Sub(d.at[name]) >= goneAfter
}

// Gone reports whether no VM of this name has existed for five minutes. It returns false while that is
// not certain: until all VMs were read and five minutes have passed since, and while VMs cannot be
// watched.
func (m *VMs) Gone(name string) bool {
	_, there, err := m.store.GetByKey(m.namespace + "/" + name)
	return !there && err == nil && m.index.Load().complete && m.deletions.gone(name)
}
