// This file passes the boot steps that the DNS server and the proxy see to the DHCP server, which knows the VMs. Only addresses
// with the lease of a VM have steps.

package sharedfiles

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
)

const (
	// maxBootsFile is enough for several thousand VMs.
	maxBootsFile = 1 << 20
	// bootsForget is how often addresses are forgotten that their VMs no longer have.
	bootsForget = 10 * time.Second
)

// Boots holds when one server first saw each step of a VM, by the VM's name.
type Boots map[string]map[network.BootStep]time.Time

// A BootsFile stores Boots. It is safe for concurrent use. Nil stores nothing.
type BootsFile struct {
	name   string
	leases *LeaseNames
	macOf  func(netip.Addr) string

	signal  signal.Signal
	mu      sync.Mutex
	seen    map[netip.Addr]bootSteps
	changed bool
}

// bootSteps are the boot steps of the VM that has an address.
type bootSteps struct {
	vm string
	at map[network.BootStep]time.Time
}

// NewBootsFile returns a BootsFile that replaces the named file. A step is stored only if macOf returns a MAC of the VM for
// the address. If macOf is nil, MACs are not checked.
func NewBootsFile(name string, leases *LeaseNames, macOf func(netip.Addr) string) *BootsFile {
	return &BootsFile{name: name, leases: leases, macOf: macOf, seen: map[netip.Addr]bootSteps{}}
}

// Saw records a step of the VM at an address. It ignores an empty step, and an address without the lease of a VM.
func (f *BootsFile) Saw(a netip.Addr, step network.BootStep) {
	if f == nil || step == "" {
		return
	}
	f.mu.Lock()
	_, known := f.seen[a].at[step]
	f.mu.Unlock()
	if known {
		return
	}
	vm := f.leases.VMAt(a)
	if vm == "" || f.macOf != nil && !f.leases.VMHas(a, f.macOf(a)) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[a].vm != vm {
		f.seen[a] = bootSteps{vm, map[network.BootStep]time.Time{}}
	}
	if _, known := f.seen[a].at[step]; !known {
		f.seen[a].at[step], f.changed = time.Now().UTC(), true
		f.signal.Notify()
	}
}

// Run stores what was seen, at most once a second, until ctx ends.
func (f *BootsFile) Run(ctx context.Context, log *slog.Logger) {
	for f != nil && ctx.Err() == nil {
		more := f.signal.Changed()
		if all, changed := f.current(); changed {
			b, err := json.Marshal(all)
			if err == nil {
				err = Replace(f.name, b)
			}
			if err != nil {
				log.Warn("boots of VMs not stored", "file", f.name, "err", err)
			}
			signal.Sleep(ctx, ReadInterval)
		}
		signal.Wait(ctx, bootsForget, more)
	}
}

// current returns what was seen, and whether it changed since the last call. It forgets addresses that their VMs no longer have.
func (f *BootsFile) current() (all Boots, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all = Boots{}
	for a, x := range f.seen {
		if f.leases.VMAt(a) != x.vm {
			delete(f.seen, a)
			f.changed = true
			continue
		}
		if all[x.vm] == nil {
			all[x.vm] = map[network.BootStep]time.Time{}
		}
		maps.Copy(all[x.vm], x.at)
	}
	changed, f.changed = f.changed, false
	return all, changed
}

// FollowBoots calls function set with the boot steps in the named file, at each change until ctx ends. Parameter of is the
// server that writes the file. It ignores steps that only other servers can see, since a VM may have compromised the server.
func FollowBoots(ctx context.Context, name string, of network.Service, set func(Boots), log *slog.Logger) {
	file := Shared{Name: name, Limit: maxBootsFile, Log: log, Unread: "boots of VMs not read"}
	file.followUntil(ctx, func(b []byte) error {
		var all Boots
		err := json.Unmarshal(b, &all)
		if err == nil {
			for _, steps := range all {
				maps.DeleteFunc(steps, func(s network.BootStep, _ time.Time) bool { return s.SeenBy() != of })
			}
			set(all)
		}
		return err
	})
}
