// Package await waits for conditions of a testbed.
package await

import (
	"context"
	"time"
)

// Patience is how long the testbed and its tests wait for what must happen: a machine that compiles at the same time
// needs minutes for what takes seconds on a calm one. It says nothing about how quick the product is.
const Patience = 15 * time.Minute

// Poll asks done until it says yes, fails, or limit or ctx is over.
func Poll(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := done(); err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
