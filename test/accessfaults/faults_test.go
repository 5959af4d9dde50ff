// This file says what happens, one row of the table each, and what tunnels may see of it.

package accessfaults

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// A row is one fault.
type row struct {
	name string
	// long: only `make test-long` and `make bench-access-faults` measure it.
	long bool
	// lasts is how long the fault lasts, brief how long it does without $OOOI_ACCESS_FAULTS.
	lasts, brief time.Duration
	// concerns matches the tunnels that the first column is about.
	concerns func(*tunnel) bool
	// happens begins the fault, and returns when it is over.
	happens func(t *testing.T, w *world, c *crowd, lasts time.Duration)
	// live: the concerned tunnels live on. Else each is reset. The others always live.
	live bool
	// soon is how long no new tunnel may open, where nothing else runs on the machine. 0: none is expected.
	soon time.Duration
}

func throughFirst(x *tunnel) bool { return x.edge == 1 }
func toOther(x *tunnel) bool      { return x.port == otherPort }
func all(*tunnel) bool            { return true }

// serveOn is how long the containers of a pod that is deleted serve on.
const serveOn = 5 * time.Second

func rows() []row {
	const s = time.Second
	return []row{
		{name: "container `access` killed, and started again", lasts: 2 * s, brief: s, concerns: throughFirst, soon: 4 * s, happens: killed},
		{name: "edge drained", lasts: serveOn, brief: 2 * s, concerns: throughFirst, soon: 3 * s, happens: drained},
		{name: "edge lost, and back", lasts: 10 * s, brief: 3 * s, concerns: throughFirst, live: true, soon: 6 * s, happens: lost},
		{name: "API server away", lasts: 60 * s, brief: 5 * s, concerns: all, live: true, soon: 3 * s, happens: away},
		{name: "API server away, and `access` started again", lasts: 10 * s, brief: 2 * s, concerns: throughFirst, soon: 4 * s, happens: awayAndRestarted},
		{name: "keys of the API server rotated", long: true, lasts: 75 * s, concerns: all, live: true, soon: 75 * s, happens: rotated},
		{name: "annotation edited: one of two ports left", lasts: 3 * s, brief: s, concerns: toOther, soon: 3 * s, happens: edited},
		{name: "annotation removed", lasts: 3 * s, brief: s, concerns: all, happens: removed},
	}
}

// killed has the kernel end the program, as it does if a container has too little memory.
func killed(t *testing.T, w *world, c *crowd, lasts time.Duration) {
	w.edges[1].end(t, wire.Access, syscall.SIGKILL)
	w.start(t, w.edges[1], wire.Access, "--watched-by", "dhcp")
	NewWithT(t).Eventually(func() error { return w.opens(t, 1) }).WithPolling(retry).Should(Succeed(), "the program that was started again")
	wait(t, lasts)
}

// drained deletes the pod of an edge: its Service forwards to the other one immediately.
func drained(t *testing.T, w *world, c *crowd, lasts time.Duration) {
	c.leave(1)
	wait(t, lasts)
	NewWithT(t).Expect(c.fate(throughFirst).live).To(Equal(each), "tunnels live while the pod serves on")
	w.edges[1].end(t, wire.Access, syscall.SIGTERM)
}

// lost pulls the cables of an edge. The Service does not notice it.
func lost(t *testing.T, w *world, _ *crowd, lasts time.Duration) {
	w.vlan.Pull(t, w.edges[1].ns, "net1")
	w.pods.Pull(t, w.edges[1].ns, "eth0")
	wait(t, lasts)
	w.vlan.Plug(t, w.edges[1].ns, "net1")
	w.pods.Plug(t, w.edges[1].ns, "eth0")
	NewWithT(t).Eventually(func() error { return w.opens(t, 1) }).WithPolling(retry).Should(Succeed())
}

func away(t *testing.T, w *world, _ *crowd, lasts time.Duration) {
	w.pods.DropTo(t, w.api, "eth0", "")
	wait(t, lasts)
	for number := 1; number <= 2; number++ {
		NewWithT(t).Eventually(func() error { return w.opens(t, number) }).WithPolling(retry).Should(Succeed(), "edge %d", number)
	}
}

// awayAndRestarted: the keys, the leases and the plan of an edge are on its disk.
func awayAndRestarted(t *testing.T, w *world, c *crowd, lasts time.Duration) {
	w.pods.DropTo(t, w.api, "eth0", "")
	killed(t, w, c, lasts)
}

// rotated replaces the keys. The API server signs with the new one at once, which is worse than a rotation: there it publishes first.
func rotated(t *testing.T, w *world, c *crowd, lasts time.Duration) {
	w.publish(t, newKey(t))
	for number := 1; number <= 2; number++ {
		NewWithT(t).Eventually(func() error { return w.opens(t, number) }, lasts, "50ms").Should(Succeed(), "edge %d", number)
	}
	c.end()
}

func edited(t *testing.T, w *world, c *crowd, lasts time.Duration) {
	a := everything()
	a.Destinations = a.Destinations[:1]
	w.open(t, a)
	NewWithT(t).Eventually(func() int { return c.fate(toOther).live }).WithPolling(5 * time.Millisecond).Should(BeZero())
	wait(t, lasts)
}

func removed(t *testing.T, w *world, c *crowd, lasts time.Duration) {
	w.open(t, network.Access{})
	NewWithT(t).Eventually(func() int { return c.fate(all).live }).WithPolling(5 * time.Millisecond).Should(BeZero())
	for number := 1; number <= 2; number++ {
		NewWithT(t).Eventually(func() error { return w.opens(t, number) }).WithPolling(retry).Should(MatchError(syscall.ECONNREFUSED), "edge %d", number)
	}
	wait(t, lasts)
}

// wait lets a fault last.
func wait(t *testing.T, length time.Duration) {
	select {
	case <-time.After(length):
	case <-t.Context().Done():
	}
}

// TestFaults measures each row, in full if $OOOI_ACCESS_FAULTS is set. $OOOI_ACCESS_FAULTS_TABLE is a file that the table is
// written to.
func TestFaults(t *testing.T) {
	netns.Require(t, "mount")
	full := os.Getenv("OOOI_ACCESS_FAULTS") != ""
	program := programs.RequireOwn(t, wire.Program)
	c := newCluster(t)
	var table strings.Builder
	table.WriteString("| fault | lasts s | the tunnels that it concerns | the other tunnels | no new tunnel for |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range rows() {
		if r.long && !full {
			continue
		}
		t.Run(r.name, func(t *testing.T) { table.WriteString(r.measure(t, newWorld(t, c, program), full)) })
	}
	t.Log("\n" + table.String())
	if file := os.Getenv("OOOI_ACCESS_FAULTS_TABLE"); file != "" {
		NewWithT(t).Expect(os.WriteFile(file, []byte(table.String()), 0o644)).To(Succeed())
	}
}

// measure returns the row of the table.
func (r row) measure(t *testing.T, w *world, full bool) string {
	t.Helper()
	g, lasts := NewWithT(t), r.brief
	if full {
		lasts = r.lasts
	}
	c := w.newCrowd(t)
	c.carry(t)
	c.begin()
	r.happens(t, w, c, lasts)
	ended := func() int { return 2*each - c.fate(all).live }
	if !r.live {
		g.Eventually(func() int { return c.fate(r.concerns).live }).WithPolling(5*time.Millisecond).Should(BeZero(), "each tunnel learns that it has ended")
	}
	c.carry(t)
	c.end()
	concerned, others := c.fate(r.concerns), c.fate(func(x *tunnel) bool { return !r.concerns(x) })
	fresh := "-"
	if r.soon > 0 {
		fresh = fmt.Sprintf("%d ms", c.newTunnel().Milliseconds())
		if full {
			g.Expect(c.newTunnel()).To(BeNumerically("<", r.soon))
		}
	}
	t.Logf("concerned: %s, others: %s, no new tunnel for: %s", concerned, others, fresh)
	if r.live {
		g.Expect(ended()).To(BeZero(), "%s; %s", concerned, others)
	} else {
		g.Expect(concerned.live).To(BeZero())
		for how := range concerned.ended {
			g.Expect(how).To(Equal("reset"), "an end would look complete")
		}
		g.Expect(others.ended).To(BeEmpty(), "%s", others)
	}
	return fmt.Sprintf("| %s | %g | %s | %s | %s |\n", r.name, lasts.Seconds(), concerned, others, fresh)
}
