package envoy

import (
	"encoding/json"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
)

// TestABurst: a VM opens thousands of connections as fast as it can while Envoy asks the Gate only about a sample. It gets its share, plus
// what it opened until Envoy asked about all connections. Another VM is served. After the VM has closed its connections, Envoy asks about a
// sample again.
func TestABurst(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	n, at := w.greedy(t)
	w.serves(t, n, at)
	other := netns.New(t)
	w.vlan.Attach(t, other, "eth0", "", "192.168.100.30/24")
	w.alive(t, other)
	g.Eventually(func() string { return w.runtime(t, askedKey) }, patient).Should(Equal(sample(w)))
	all := open(t, w.machine, onVLAN+":6443", 3_000)
	active := func() int { return w.count(t, "listener."+onVLAN+"_6443.downstream_cx_active") }
	share := int(w.limits.Share(true))
	g.Eventually(func() string { return w.runtime(t, askedKey) }, patient).Should(Equal("100"))
	w.alive(t, other)
	w.decided(t, "6443")
	g.Eventually(func() int { return active() - w.unanswered(t) }, patient).Should(BeNumerically("<=", share*2), "the memory is enough for that")
	t.Logf("%d of %d connections are open, the share is %d", active(), len(all), share)
	g.Expect(active()).To(BeNumerically(">=", share/2))
	for _, c := range all {
		_ = c.Close()
	}
	g.Eventually(func() string {
		w.alive(t, other)
		return w.runtime(t, askedKey)
	}, patient, "300ms").Should(Equal(sample(w)))
}

// TestABurstWithTraffic: a VM that has half of its share opens twice its share at once, while all that it has open carry as much
// as they can. Envoy waits for the answers, so only what it carried without an answer stays open above the share.
func TestABurstWithTraffic(t *testing.T) {
	g := NewWithT(t)
	w := newWorldWith(t, 1536<<20, 0)
	n, at := w.greedy(t)
	w.serves(t, n, at)
	share := int(w.limits.Share(true))
	var all []net.Conn
	more := func(count int) {
		opened := open(t, w.machine, floodPort, count)
		for _, c := range opened {
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		fill(t, opened)
		all = append(all, opened...)
	}
	more(share * 6 / 10)
	g.Eventually(func() string { return w.runtime(t, askedKey) }, patient).Should(Equal("100"))
	more(share * 2)
	active := func() int { return w.count(t, "listener."+onVLAN+"_9000.downstream_cx_active") }
	above := func() int { return active() - w.unanswered(t) - share }
	w.decided(t, "9000")
	g.Eventually(above, patient).Should(BeNumerically("<=", 0))
	t.Logf("%d of %d connections are open, the share is %d, %d were carried without an answer", active(), len(all), share, w.unanswered(t))
	g.Expect(active()).To(BeNumerically(">", 0))
	if strict() {
		g.Expect(w.unanswered(t)).To(BeZero())
	}
}

// decided waits until Envoy has accepted all connections to a port, and none waits for an answer of the Gate.
func (w *world) decided(t *testing.T, port string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() (queued []string) {
		for line := range strings.Lines(w.edge.Run(t, "ss", "-Hltn", "sport", "=", ":"+port)) {
			queued = append(queued, strings.Fields(line)[1])
		}
		return queued
	}, patient).Should(HaveEach("0"))
	g.Eventually(func() string { return w.counter(t, "ratelimit."+gateCluster+".active") }, patient).Should(Equal("0"))
}

// unanswered is how many connections Envoy carried without an answer of the Gate, which came too late: on a busy
// machine there are some.
func (w *world) unanswered(t *testing.T) int {
	t.Helper()
	return w.count(t, "ratelimit."+gateCluster+".failure_mode_allowed")
}

// sample is the percentage of connections that Envoy asks about while no source is near its share.
func sample(w *world) string { return strconv.Itoa(int(w.limits.Sample())) }

// runtime is a runtime value of Envoy.
func (w *world) runtime(t *testing.T, key string) string {
	t.Helper()
	var values struct {
		Entries map[string]struct {
			Final string `json:"final_value"`
		}
	}
	NewWithT(t).Expect(json.Unmarshal(w.get(t, "/runtime"), &values)).To(Succeed())
	return values.Entries[key].Final
}
