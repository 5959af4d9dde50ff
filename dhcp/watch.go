// This file notices when the server hangs.

package dhcp

import (
	"fmt"
	"sync/atomic"
	"time"
)

// standstill is how long the server may take for one message. VMs that wait longer ask again.
const standstill = time.Second

// A watch tracks how long the server has been processing the current message. It reads the monotonic clock.
type watch struct {
	began time.Time
	// since is when processing of the message started, in nanoseconds after the time began. 0: the server
	// waits for one.
	since atomic.Int64
}

func (w *watch) begin() { w.since.Store(max(1, int64(time.Since(w.began)))) }

func (w *watch) end() { w.since.Store(0) }

// err returns an error if a message takes too long.
func (w *watch) err() error {
	since := w.since.Load()
	if since == 0 {
		return nil
	}
	if at := time.Since(w.began) - time.Duration(since); at >= standstill {
		return fmt.Errorf("DHCP is stuck: one message has been processed for %s, others wait", at.Truncate(time.Second))
	}
	return nil
}
