package envoy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestFlapsOfANameFillNoMemory: a Service comes and goes, 300 times or OOOI_FLAPS times. Envoy keeps
// a listener of 50 names for a day for some of these changes only. No connection is cut, a
// name that is gone is not forwarded, and one that is back is.
func TestFlapsOfANameFillNoMemory(t *testing.T) {
	g := NewWithT(t)
	flaps, limit := 300, 16
	if s := os.Getenv("OOOI_FLAPS"); s != "" {
		var err error
		flaps, err = strconv.Atoi(s)
		g.Expect(err).NotTo(HaveOccurred())
		limit = 64
	}
	w := newWorld(t)
	without := blue()
	for i := range 50 {
		f := &without.Listeners[0].Forwards[0]
		f.ServerNames = append(f.ServerNames, fmt.Sprintf("name-%d.example.com", i))
	}
	with, behind := without, pods()
	flapping := network.Backend{Name: "flapping:443", Service: "flapping", Port: 443}
	with.Backends = append([]network.Backend{flapping}, without.Backends...)
	with.Listeners = append([]network.Listener{}, without.Listeners...)
	with.Listeners[0].Forwards = append([]network.Forward{{ServerNames: []string{"flapping.example.com"}, Backend: flapping.Name}}, without.Listeners[0].Forwards...)
	behind[flapping.Name] = pods()[oauth.Name]

	w.serves(t, with, behind)
	stay := map[string]*tunnel{}
	for _, name := range []string{"flapping.example.com", "name-7.example.com", "console.blue.example.com"} {
		u, err := w.dial(t, onVLAN+":443", name)
		g.Expect(err).NotTo(HaveOccurred())
		stay[name] = u
	}
	allocated := func() int {
		var memory struct{ Allocated string }
		b, err := w.admin.get(t.Context(), "/memory")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(json.Unmarshal(b, &memory)).To(Succeed())
		n, err := strconv.Atoi(memory.Allocated)
		g.Expect(err).NotTo(HaveOccurred())
		return n
	}
	before := allocated()
	for i := range flaps {
		for _, n := range []network.Network{without, with} {
			w.server.Serve(NewResources(n, w.options(), maps.Clone(behind)))
			g.Eventually(w.server.Accepted, patient, "1ms").Should(Succeed())
			if i%100 == 99 {
				u, err := w.dial(t, onVLAN+":443", "flapping.example.com")
				if len(n.Backends) == len(with.Backends) {
					g.Expect(err).NotTo(HaveOccurred(), "flap %d", i)
					g.Expect(u.hello).To(HavePrefix("oauth"))
				} else {
					g.Expect(err).To(HaveOccurred(), "flap %d: it is gone", i)
				}
			}
		}
	}
	grown := (allocated() - before) >> 10
	t.Logf("%d flaps: %d KiB more, %s chains drain", flaps, grown, w.counter(t, "listener_manager.total_filter_chains_draining"))
	g.Expect(grown).To(BeNumerically("<", limit<<10))
	for name, u := range stay {
		g.Expect(u.works()).To(Succeed(), "the connection to %s", name)
	}
}
