// This file follows the address of a server at the service VIP, and what the server serves: a
// change of the plan may change both.

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

// ServiceAddress returns where a server listens: at listen, or at port of the service VIP if
// listen is zero.
func ServiceAddress(source *inforce.Source, listen netip.AddrPort, port uint16) netip.AddrPort {
	if listen.IsValid() {
		return listen
	}
	return netip.AddrPortFrom(source.Current().Network.ServiceVIP, port)
}

// UntilMoved returns the address of a server, and a context that ends with ctx or when the plan
// changes the address. The caller calls stop.
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

// AtEach calls do once before it returns. Until ctx ends, a goroutine then calls do after each change
// of one of triggers.
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
