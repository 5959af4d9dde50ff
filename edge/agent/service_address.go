// This file follows what a server at the service VIP serves, and its address: a change of the
// plan may move it.

package agent

import (
	"context"
	"math"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/source"
)

// untilChange is how long a wait lasts that only a change ends.
const untilChange = time.Duration(math.MaxInt64)

// serviceAddress returns where a server listens: at listen, or at port of the service VIP if
// listen is zero.
func serviceAddress(source *source.Source, listen netip.AddrPort, port uint16) netip.AddrPort {
	if listen.IsValid() {
		return listen
	}
	return netip.AddrPortFrom(source.Current().Network.ServiceVIP, port)
}

// untilMoved returns the address of a server, and a context that ends with ctx or when the plan
// changes the address. The caller calls stop.
func untilMoved(ctx context.Context, source *source.Source, at func() netip.AddrPort) (moved context.Context, stop func(), here netip.AddrPort) {
	moved, stop = context.WithCancel(ctx)
	here = at()
	atEach(moved, Triggers{Plan: source.Changed}, func() {
		if at() != here {
			stop()
		}
	})
	return moved, stop, here
}

// atEach calls do before it returns, and then at each change that triggers see, until ctx ends.
func atEach(ctx context.Context, triggers Triggers, do func()) {
	changed := triggers.wait()
	do()
	go func() {
		for {
			changed(ctx, untilChange)
			if ctx.Err() != nil {
				return
			}
			changed = triggers.wait()
			do()
		}
	}()
}
