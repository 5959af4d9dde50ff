package trial

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// TestGaps: connections are tried each 50 ms for 20 s. Those that begin in between fail. From moves on, another edge has them.
func TestGaps(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		fails, again time.Duration
		moves        time.Duration
		want         problem.Cause
		message      string
	}{
		"quiet":          {never, never, 5 * time.Second, problem.FailoverMeasured, "VMs could not open connections for 50ms. 400 succeeded and 0 failed."},
		"fast":           {5 * time.Second, 5300 * time.Millisecond, 5 * time.Second, problem.FailoverMeasured, "VMs could not open connections for 350ms. 394 succeeded and 6 failed."},
		"slow":           {5 * time.Second, 12 * time.Second, 5 * time.Second, problem.FailoverSlow, "VMs could not open connections for 7.05s. 260 succeeded and 140 failed."},
		"the edge stays": {never, never, never, problem.FailoverUnseen, "Connections never went to another edge, so no failover was seen. 400 succeeded and 0 failed."},
		"another edge is taken away, and the kernel tells no MAC": {5 * time.Second, 5300 * time.Millisecond, -1, problem.FailoverUnseen, "Connections never went to another edge, so no failover was seen. 394 succeeded and 6 failed."},
		"never again": {5 * time.Second, never, never, problem.FailoverMissing, "No connection succeeded in the last 15s: the other edge did not take over."},
		"never":       {0, never, never, problem.FailoverNotBegun, "No connection succeeded, not even before the edge stopped."},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			g := gaps{last: began}
			end := began.Add(20 * time.Second)
			for at := time.Duration(0); at < 20*time.Second; at += failoverInterval {
				var err error
				if c.fails <= at && at < c.again {
					err = errors.New("no")
				}
				by := "02:00:00:00:00:01"
				switch {
				case c.moves < 0:
					by = ""
				case at >= c.moves:
					by = "02:00:00:00:00:02"
				}
				g = g.next(err, by, began.Add(at))
			}
			ps := g.judge(end)
			NewWithT(t).Expect(ps).To(HaveLen(1))
			NewWithT(t).Expect(ps[0].Cause).To(Equal(c.want))
			NewWithT(t).Expect(explain.Problem(ps[0]).String()).To(HavePrefix(c.message))
		})
	}
}
