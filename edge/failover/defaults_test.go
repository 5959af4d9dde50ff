package failover_test

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

// runAgent runs an agent. What o leaves out does nothing; Carrier asks the kernel, and Serving is called four times a second.
func runAgent(ctx context.Context, o failover.Options) error {
	if o.OnLink == nil {
		o.OnLink = func() []netip.Addr { return nil }
	}
	if o.Plan == nil {
		o.Plan = func() (name, owner string) { return "", "" }
	}
	if o.Changed == nil {
		o.Changed = func(failover.State) {}
	}
	if o.Announced == nil {
		o.Announced = func(string, bool, error) {}
	}
	o.Carrier = func() bool {
		i, err := net.InterfaceByName(o.Device)
		return err == nil && i.Flags&net.FlagRunning != 0
	}
	o.ServingChanged = func() <-chan struct{} {
		changed := make(chan struct{})
		time.AfterFunc(250*time.Millisecond, func() { close(changed) })
		return changed
	}
	o.Reach = func(context.Context, func(time.Time)) {}
	o.Stale = func() bool { return false }
	return failover.Run(ctx, o)
}
