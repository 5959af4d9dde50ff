// This file passes the boot steps that the servers of an edge observe to package edge/agent/boots.

package servers

import (
	"context"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/agent/boots"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// bootsInterval is how often VMs and leases are read. A new lease is seen at most this much later.
const bootsInterval = 5 * time.Second

// Boots follows VMs that boot on one network. It is safe for concurrent use.
type Boots struct {
	// Steps returns the steps that edges of the network see. VMs returns the cluster's VMs by name. False: they are not
	// all known yet.
	Steps func() []network.BootStep
	VMs   func() (map[string]boots.VM, bool)
	// Connected returns Connected of reported.EdgeReport.
	Connected func() string
	// Report gets what Timelines.Report returns.
	Report func(all []reported.Boot, omitted int)

	mu    sync.Mutex
	lines boots.Timelines
}

// Discovered records a DHCPDISCOVER of a VM that never had an address.
func (b *Boots) Discovered(vm string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines.Discovered(vm, time.Now())
}

// Saw records steps that another server of the edge saw.
func (b *Boots) Saw(all map[string]map[network.BootStep]time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines.Saw(all)
}

// Run reads the VMs and calls Report every bootsInterval until ctx ends.
func (b *Boots) Run(ctx context.Context) {
	for ; ctx.Err() == nil; signal.Sleep(ctx, bootsInterval) {
		if vms, ok := b.VMs(); ok {
			b.Report(b.look(vms, time.Now()))
		}
	}
}

func (b *Boots) look(vms map[string]boots.VM, now time.Time) ([]reported.Boot, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines.Look(vms, b.Connected(), now)
	return b.lines.Report(b.Steps(), now)
}
