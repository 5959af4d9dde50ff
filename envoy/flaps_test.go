package envoy

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// A flap is two networks that follow each other, and who answers at an address and a server name with each, at last. Empty: no
// connection is possible, at once.
type flap struct {
	with, without  network.Network
	at, serverName string
	says, then     string
}

// flapKeeps is how much of Envoy's memory one flap may take: 17 to 30 KiB were measured, most on a busy machine. allFlapsKeep is what any
// number may take, since Envoy removes former listeners in time.
const flapKeeps, allFlapsKeep = 40 << 10, 64 << 20

// flaps are the kinds of changes that a user, or a faulty controller, can repeat, among 50 names.
func flaps() map[string]flap {
	plain := func() network.Network {
		n := blue()
		f := &n.Listeners[0].Forwards[0]
		for i := range 50 {
			f.ServerNames = append(f.ServerNames, fmt.Sprintf("name-%d.example.com", i))
		}
		n.Backends = append([]network.Backend{other}, n.Backends...)
		return n
	}
	leading := func(to string) network.Network {
		n := plain()
		n.Listeners[0].Forwards = append([]network.Forward{{ServerNames: []string{otherName}, Backend: to}}, n.Listeners[0].Forwards...)
		return n
	}
	without := plain()
	without.Backends = without.Backends[1:]
	port := plain()
	port.Listeners = append(port.Listeners, network.Listener{Address: service, Port: otherPort, Default: other.Name})
	return map[string]flap{
		"a name comes and goes":     {with: leading(other.Name), without: without, at: onVLAN + ":443", serverName: otherName, says: "ingress"},
		"a listener comes and goes": {with: port, without: without, at: fmt.Sprintf("%s:%d", onVLAN, otherPort), says: "ingress"},
		"a name moves":              {with: leading(other.Name), without: leading(oauth.Name), at: onVLAN + ":443", serverName: otherName, says: "ingress", then: "oauth"},
	}
}

// TestFlapsFillNoMemory: a change is made and undone 300 times, or OOOI_FLAPS times. Envoy keeps former listeners only for some of these
// changes. No connection is cut, removed names are not forwarded, and names that return are soon.
func TestFlapsFillNoMemory(t *testing.T) {
	count := 300
	if s := os.Getenv("OOOI_FLAPS"); s != "" {
		var err error
		count, err = strconv.Atoi(s)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	for what, f := range flaps() {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t)
			behind := pods()
			behind[other.Name] = behind[ingress.Name]
			w.serves(t, f.with, behind)
			stay := map[string]*tunnel{}
			for name, at := range map[string]string{f.serverName: f.at, "name-7.example.com": onVLAN + ":443", "console.blue.example.com": onVLAN + ":443"} {
				u, err := w.dial(t, at, name)
				g.Expect(err).NotTo(HaveOccurred())
				stay[name] = u
			}
			before := w.allocated(t)
			for i := range count {
				for _, n := range []network.Network{f.without, f.with} {
					w.server.Serve(resources.New(n, w.options(), maps.Clone(behind)))
					g.Eventually(w.server.Accepted, patient, "1ms").Should(Succeed())
					if i%100 != 99 {
						continue
					}
					says := f.then
					if len(n.Listeners) == len(f.with.Listeners) && n.Listeners[0].Forwards[0].Backend == f.with.Listeners[0].Forwards[0].Backend {
						says = f.says
					}
					if says == "" {
						_, err := w.dial(t, f.at, f.serverName)
						g.Expect(err).To(HaveOccurred(), "flap %d: it is gone", i)
						continue
					}
					g.Eventually(func() (string, error) {
						u, err := w.dial(t, f.at, f.serverName)
						if u != nil {
							_ = u.conn.Close() // All that are open count to the share of this VM.
						}
						return u.says(), err
					}, patient, "100ms").Should(ContainSubstring(says), "flap %d", i)
				}
			}
			grown := w.allocated(t) - before
			t.Logf("%d flaps: %d KiB more, %s chains drain", count, grown>>10, w.counter(t, "listener_manager.total_filter_chains_draining"))
			g.Expect(grown).To(BeNumerically("<", min(count*flapKeeps, allFlapsKeep)))
			for name, u := range stay {
				g.Expect(u.works()).To(Succeed(), "the connection to %s", name)
			}
		})
	}
}
