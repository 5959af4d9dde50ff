// This file follows the address of a server at the service VIP, which the plan may change.

package serving

import (
	"context"
	"math"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/inforce"
)

// UntilChange is how long a wait lasts that only a change ends.
const UntilChange = time.Duration(math.MaxInt64)

// ServiceAddress returns where a server listens: at listen, or else at port of the service VIP.
func ServiceAddress(source *inforce.Source, listen netip.AddrPort, port uint16) netip.AddrPort {
	if listen.IsValid() {
		return listen
	}
	return netip.AddrPortFrom(source.Current().Network.ServiceVIP, port)
}

// UntilMoved returns the address of a server, and a context that ends when the plan changes it. The
// caller calls stop.
func UntilMoved(ctx context.Context, source *inforce.Source, at func() netip.AddrPort) (moved context.Context, stop func(), here netip.AddrPort) {
	moved, stop = context.WithCancel(ctx)
	here = at()
	AtEach(moved, Triggers{Plan: source.Changed}, func() {
		if at() != here {
			stop()
		}
	})
	return moved, stop, here
}

// AtEach calls function do once before it returns, and then in a goroutine after each change of one
// of triggers, until ctx ends.
func AtEach(ctx context.Context, triggers Triggers, do func()) {
	changed := triggers.Wait()
	do()
	go func() {
		for {
			changed(ctx, UntilChange)
			if ctx.Err() != nil {
				return
			}
			changed = triggers.Wait()
			do()
		}
	}()
}
