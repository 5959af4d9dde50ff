package ads

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// withoutOAuth is blue without a name and its backend.
func withoutOAuth() network.Network {
	n := blue()
	n.Backends = []network.Backend{api, ingress}
	n.Listeners[0].Forwards = slices.DeleteFunc(n.Listeners[0].Forwards, func(f network.Forward) bool { return f.Backend == oauth.Name })
	return n
}

// TestChangesThatRepeatAreHeldOff: a name is added and removed repeatedly for an hour. Its previous listeners never use more than is
// granted within one drain time. While changes wait, withdrawn names have no endpoints, names that return have them, and removals of
// listeners do not wait. The last change is sent soon.
func TestChangesThatRepeatAreHeldOff(t *testing.T) {
	g := NewWithT(t)
	const drain = 10 * time.Minute
	p := newPlayed()
	k := p.connects(t)
	version, taken := "", []time.Time{}
	step := func(n network.Network) target {
		to := newTarget(resources.New(n, resources.Options{}, pods()))
		for range 4 {
			for _, x := range k.due(to, p.now) {
				p.takes(t, k, x, never)
			}
		}
		if v := p.byType[lds][onVLAN+":443"].GetVersion(); v != version {
			version, taken = v, append(taken, p.now)
		}
		return to
	}
	p.now = time.Now()
	g.Expect(p.has(step(blue()))).To(Succeed())
	cost := int64(formerListener + len(resources.ChainsOf(resources.New(withoutOAuth(), resources.Options{}, nil).Listeners[onVLAN+":443"]))*formerChain)
	heldOff := 0
	for i := range 36_000 {
		p.now = p.now.Add(100 * time.Millisecond)
		n := blue()
		if i%2 == 0 {
			n = withoutOAuth()
		}
		to := step(n)
		g.Expect(p.reaches(t, to)).To(Succeed())
		if i%2 == 1 {
			g.Expect(p.byType[eds][oauth.Name].GetVersion()).To(Equal(to.version(eds, oauth.Name)), "it is back")
		}
		g.Expect(k.accepted(to, p.now)).To(Succeed())
		if !k.draining.until(p.now).IsZero() {
			heldOff++
		}
		taken = slices.DeleteFunc(taken, func(at time.Time) bool { return p.now.Sub(at) > drain })
		g.Expect(int64(len(taken)) * cost).To(BeNumerically("<=", formerAtOnce+drain.Minutes()*formerPerMinute+float64(cost)))
	}
	g.Expect(heldOff).To(BeNumerically(">", 1000))
	n := withoutOAuth()
	n.Listeners = n.Listeners[1:]
	step(n)
	g.Expect(p.byType[lds]).NotTo(HaveKey(onVLAN+":443"), "what goes does not wait")
	step(withoutOAuth())
	g.Expect(k.again()).To(BeTemporally("<", p.now.Add(5*time.Second)))
	for !k.again().IsZero() {
		p.now = k.again()
		step(withoutOAuth())
	}
	g.Expect(p.has(step(withoutOAuth()))).To(Succeed())
}
