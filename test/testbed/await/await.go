// Package await waits for conditions of a testbed.
package await

import (
	"context"
	"time"
)

// Patience is how long the testbed and its tests wait for what must happen. A host that compiles at the same time needs
// minutes for what takes seconds on an idle one. So Patience is no bound for the product's speed.
const Patience = 15 * time.Minute

// Poll calls done until it returns true or an error. It returns an error after limit, or when ctx ends.
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
