package acd

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const router = "02:00:00:00:00:aa"

func blue() network.Network {
	return network.Network{
		Name: "clusters.vlan100", CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: netip.MustParseAddr("192.168.100.3"),
		Edges: []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}, {Number: 2, Address: netip.MustParseAddr("192.168.100.5")}},
	}
}

// A kernel probes as Linux does: so many requests a second apart, then FAILED.
type kernel struct {
	requests int
	asked    map[netip.Addr]time.Time
	// answers is the MAC that answers for an address that is asked for now.
	answers func(a netip.Addr, now time.Time) string
	found   map[netip.Addr]string
	sent    int
}

func newKernel(answers func(netip.Addr, time.Time) string) *kernel {
	return &kernel{requests: 3, asked: map[netip.Addr]time.Time{}, found: map[netip.Addr]string{}, answers: answers}
}

func (k *kernel) look(now time.Time) Look {
	table := map[netip.Addr]device.Neighbor{}
	for a, at := range k.asked {
		for i := range k.requests {
			if sent := at.Add(time.Duration(i) * time.Second); k.found[a] == "" && !sent.After(now) {
				k.found[a] = k.answers(a, sent)
			}
		}
		table[a] = device.Neighbor{MAC: k.found[a], Failed: k.found[a] == "" && now.Sub(at) >= time.Duration(k.requests)*time.Second}
	}
	return Look{Table: table}
}

// check runs one check and says when it ended.
func check(k *kernel) (Verdict, time.Duration) {
	began := time.Unix(1000, 0)
	var s State
	for now := began; now.Sub(began) < time.Minute; {
		var do Actions
		s, do = Next(s, blue(), k.look(now), now)
		for _, a := range do.Probe {
			k.asked[a] = now
			k.sent++
		}
		if do.Verdict != nil {
			return *do.Verdict, now.Sub(began)
		}
		now = now.Add(do.Again)
	}
	return Verdict{Err: errors.New("no verdict")}, time.Minute
}

func answer(mac string, after time.Duration, addresses ...string) func(netip.Addr, time.Time) string {
	return func(a netip.Addr, now time.Time) string {
		for _, x := range addresses {
			if a.String() == x && now.Sub(time.Unix(1000, 0)) >= after {
				return mac
			}
		}
		return ""
	}
}

// TestFree: after four seconds, and never sooner, however few requests a kernel sends.
func TestFree(t *testing.T) {
	for _, requests := range []int{1, 2, 3, 5} {
		g := NewWithT(t)
		k := newKernel(answer("", 0))
		k.requests = requests
		v, took := check(k)
		g.Expect(v.Err).NotTo(HaveOccurred())
		g.Expect(v.Probed).To(BeTrue())
		g.Expect(took).To(And(BeNumerically(">=", freeAfter), BeNumerically("<=", time.Duration(max(requests, 3)+1)*time.Second+2*lookInterval)), "%d requests", requests)
	}
}

// TestInUse: a conflict is found with each answer that arrives until the last probe, such as
// through a port that starts to forward late.
func TestInUse(t *testing.T) {
	for _, late := range []time.Duration{0, 900 * time.Millisecond, 2 * time.Second, 3 * time.Second} {
		v, _ := check(newKernel(answer(router, late, "192.168.100.2")))
		NewWithT(t).Expect(v.Err).To(MatchError("addresses in use: 192.168.100.2 by MAC "+router), "%s", late)
	}
}

// TestAnotherAddressIsNoConflict: only addresses that edges are to hold count.
func TestAnotherAddressIsNoConflict(t *testing.T) {
	v, _ := check(newKernel(answer(router, 0, "192.168.100.77")))
	NewWithT(t).Expect(v.Err).NotTo(HaveOccurred())
}

// TestProxyARP: a router that answers for everything holds nothing up, in whatever order
// its answers arrive, and the operator is told.
func TestProxyARP(t *testing.T) {
	g := NewWithT(t)
	v, took := check(newKernel(func(a netip.Addr, now time.Time) string {
		if a == reported.Controls(blue())[0] && now.Sub(time.Unix(1000, 0)) < time.Second {
			return "" // proxy_delay
		}
		return router
	}))
	g.Expect(v.Err).NotTo(HaveOccurred())
	g.Expect(took).To(BeNumerically(">=", freeAfter))
	g.Expect(v.Answers).To(HaveLen(len(reported.ProbedAddresses(blue())) + len(reported.Controls(blue()))))
}

// TestLostCarrier restarts the check, and a plan with other addresses too.
func TestLostCarrier(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	k := newKernel(answer("", 0))
	s, do := Next(State{}, blue(), k.look(now), now)
	g.Expect(do.Probe).To(HaveLen(6))
	unplugged := errors.New("interface net1 has no carrier")
	s, do = Next(s, blue(), Look{Err: unplugged}, now.Add(time.Second))
	g.Expect(do.Verdict.Err).To(MatchError(unplugged))
	g.Expect(do.Verdict.Probed).To(BeFalse(), "nothing is reported")
	s, do = Next(s, blue(), k.look(now), now.Add(5*time.Second))
	g.Expect(do.Verdict).To(BeNil())
	g.Expect(do.Probe).To(HaveLen(6))
	other := blue()
	other.NextHopVIP = netip.MustParseAddr("192.168.100.9")
	_, do = Next(s, other, k.look(now), now.Add(6*time.Second))
	g.Expect(do.Probe).To(HaveLen(6))
}
