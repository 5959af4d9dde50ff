// This file tests the search of the range: what it chooses, and that its cost does not depend on
// how many leases there are.

package reply_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/cost"
	"github.com/cldmnky/oooi/test/dhcpmessages"
)

// A counter counts the leases that a reply reads.
type counter struct {
	reply.Leases
	read *int
}

func (c counter) At(a netip.Addr) (network.Lease, bool) { *c.read++; return c.Leases.At(a) }

func (c counter) Of(mac string) (network.Lease, bool) { *c.read++; return c.Leases.Of(mac) }

// large is a network with a lease on each of its addresses.
func large(tb testing.TB, expires time.Duration) (network.Network, *leases.Memory) {
	tb.Helper()
	n, all := dhcpmessages.Large(expires)
	memory := &leases.Memory{}
	for _, l := range all {
		memory.Put(l)
	}
	return n, memory
}

func knows(l reply.Leases) reply.Known {
	return reply.Known{Leases: l, VMs: reply.NoVMs{}, Complete: true, Fresh: true, Offered: func(netip.Addr) string { return "" }}
}

// TestSearchReadsFewLeases: one DHCPDISCOVER in a full /16 reads a few leases, not all of them.
func TestSearchReadsFewLeases(t *testing.T) {
	g := NewWithT(t)
	for name, c := range map[string]struct {
		expires time.Duration
		want    reply.Outcome
	}{
		"all are held":     {time.Hour, reply.Exhausted},
		"all have expired": {-time.Hour, reply.Offered},
	} {
		n, memory := large(t, c.expires)
		n.DHCP.ReservedForVMs = 3
		read := 0
		k := knows(counter{memory, &read})
		k.PoolRemaining = func() int { return reply.PoolRemaining(n, k, now) }
		v := reply.Decide(n, k, message(discover, "02:00:00:ff:00:01"), now)
		if c.want == reply.Exhausted {
			g.Expect(v.Outcome).To(Equal(reply.ReservedForVMs), name)
			k.PoolRemaining = nil
			v = reply.Decide(n, k, message(discover, "02:00:00:ff:00:01"), now)
		}
		g.Expect(v.Outcome).To(Equal(c.want), name)
		g.Expect(read).To(BeNumerically("<", 50), name)
	}
}

// TestSearchAmongForgedOffers: a host that makes up MACs has offers of a whole /16. One DHCPDISCOVER looks at a part of
// them, and gets an offer.
func TestSearchAmongForgedOffers(t *testing.T) {
	g := NewWithT(t)
	n, _ := large(t, time.Hour)
	memory := &leases.Memory{}
	k, asked := knows(memory), 0
	k.Offered = func(netip.Addr) string { asked++; return mac2 }
	g.Expect(reply.Decide(n, k, message(discover, mac1), now).Outcome).To(Equal(reply.Offered))
	g.Expect(asked).To(BeNumerically("<", 2000))
}

// TestNamedAddressesCostLittle: a search skips addresses of other hosts at once. It does not compare each with all.
func TestNamedAddressesCostLittle(t *testing.T) {
	of := func(count int) func() {
		n, _ := large(t, time.Hour)
		n.DHCP.Range = network.Range{First: netip.MustParseAddr("10.77.1.0"), Last: network.AddressOf(network.Number(netip.MustParseAddr("10.77.1.0")) + uint32(count))}
		n.CIDR, n.DHCP.Exclude, n.DHCP.Reservations, n.DHCP.ReservedForVMs = netip.MustParsePrefix("10.77.0.0/16"), nil, nil, 0
		for a := n.DHCP.Range.First.Next(); n.DHCP.Range.Contains(a); a = a.Next() {
			n.DHCP.Named = append(n.DHCP.Named, a)
		}
		k := knows(&leases.Memory{})
		return func() {
			for i := range 10 {
				v := reply.Decide(n, k, message(discover, fmt.Sprintf("02:00:00:fe:00:%02x", i)), now)
				NewWithT(t).Expect(v.Outcome).To(Equal(reply.Offered))
			}
		}
	}
	ratio := cost.Ratio(of(2_000), of(20_000))
	t.Logf("20,000 addresses cost %.1f times as much as 2,000", ratio)
	NewWithT(t).Expect(ratio).To(BeNumerically("<", 40), "each compared with all would be 100")
}

// TestRenewalReadsFewLeases: one renewal reads a few leases of a full range.
func TestRenewalReadsFewLeases(t *testing.T) {
	g := NewWithT(t)
	n, memory := large(t, time.Minute)
	read := 0
	l := memory.All()[7]
	v := reply.Decide(n, knows(counter{memory, &read}), message(request, l.MAC, has(l.Address.String())), now)
	g.Expect(v.Outcome).To(Equal(reply.Granted))
	g.Expect(read).To(BeNumerically("<", 50))
}

// TestSearchPrefers: in any state of a range, a client is offered an address that was never assigned; else one with an expired lease; else
// one of a VM that no longer exists; else one that was offered to another client. If there is none of these, the range is exhausted.
func TestSearchPrefers(t *testing.T) {
	const never, over, ofGone, offered, none = "never assigned", "over", "of a gone VM", "offered to another", "none"
	seen := map[string]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := blue()
		n.DHCP.Range = network.Range{First: at("10"), Last: at("40")}
		n.DHCP.Exclude = []network.Range{{First: at("12"), Last: at("14")}, {First: at("38"), Last: at("60")}}
		n.DHCP.Named = []netip.Addr{at("20")}
		n.DHCP.Reservations = []network.Reservation{{MAC: mac2, Address: at("30")}}
		w := world{n: n, vms: cluster{names: map[string]string{mac1: "blue-worker-1", mac2: "blue-there"}, seen: true}, offered: map[string]string{}}
		best := none
		rank := map[string]int{never: 4, over: 3, ofGone: 2, offered: 1}
		class := map[netip.Addr]string{}
		full := r.IntN(3) // How much of the range is held.
		for a := n.DHCP.Range.First; n.DHCP.Range.Contains(a); a = a.Next() {
			l := network.Lease{Address: a, MAC: fmt.Sprintf("02:00:00:00:0c:%02x", a.As4()[3]), Expires: now.Add(time.Hour)}
			what := ""
			switch kind := r.IntN(60); {
			case full == 0 && kind < 30 || kind == 0:
				what, l.MAC = never, "-"
			case full == 1 && kind < 20 || kind == 1:
				what, l.Expires = over, now.Add(-2*time.Hour)
			case kind == 2:
				what, l.MAC, l.Expires = over, "", now.Add(-time.Second)
			case kind < 5:
				what, l.VM, l.Expires = ofGone, "blue-gone", now.Add(-time.Second)
			case kind < 20:
				l.VM, l.Expires = "blue-there", now.Add(-time.Second)
			case kind < 30:
				l.MAC = ""
			}
			if l.MAC != "-" {
				w.leases = append(w.leases, l)
			}
			if what != "" && r.IntN(3) == 0 {
				what, w.offered[a.String()] = offered, mac2
			}
			excluded := n.DHCP.Exclude[0].Contains(a) || n.DHCP.Exclude[1].Contains(a)
			if excluded || a == at("20") || a == at("30") {
				what = ""
			}
			if class[a] = what; rank[what] > rank[best] {
				best = what
			}
		}
		v := w.says(message(discover, mac1))
		got := none
		if v.Outcome == reply.Offered {
			got = class[v.Address]
		}
		if got != best {
			t.Fatalf("seed %d: %s %s is %q, but there is one %q", seed, v.Outcome, v.Address, got, best)
		}
		seen[got]++
	}
	for _, what := range []string{never, over, ofGone, offered, none} {
		if seen[what] < 5 {
			t.Errorf("%s: seen %d times", what, seen[what])
		}
	}
}

// BenchmarkDiscoverFull is one DHCPDISCOVER of a new client in a full /16.
func BenchmarkDiscoverFull(b *testing.B) {
	n, memory := large(b, time.Hour)
	k, m := knows(memory), message(discover, "02:00:00:ff:00:01")
	for b.Loop() {
		if v := reply.Decide(n, k, m, now); v.Outcome != reply.Exhausted {
			b.Fatal(v.Outcome)
		}
	}
}

// BenchmarkPoolRemainingFull counts the addresses of a full /16.
func BenchmarkPoolRemainingFull(b *testing.B) {
	n, memory := large(b, time.Hour)
	n.DHCP.ReservedForVMs = 500
	k := knows(memory)
	for b.Loop() {
		if reply.PoolRemaining(n, k, now) >= 0 {
			b.Fatal("the range is not full")
		}
	}
}
