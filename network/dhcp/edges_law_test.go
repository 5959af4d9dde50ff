package dhcp_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/dhcp"
)

// A lagging edge knows of the leases that others wrote only what it was told until
// now. What was removed is told at once; who is cut off from it for long is not
// what this is about.
type lagging struct {
	n     network.Network
	truth *dhcp.Files
	view  map[netip.Addr]network.Lease
	// offers to whom, which the other edge does not know.
	offers map[netip.Addr]string
}

func (l *lagging) At(a netip.Addr) (network.Lease, bool) {
	x, ok := l.view[a]
	return x, ok
}

func (l *lagging) Of(mac string) (best network.Lease, ok bool) {
	for _, x := range l.view {
		if x.MAC == mac && (!ok || best.Expires.Before(x.Expires)) {
			best, ok = x, true
		}
	}
	return best, ok
}

func (l *lagging) told(a netip.Addr) {
	if x, ok := l.truth.At(a); ok {
		l.view[a] = x
	} else {
		delete(l.view, a)
	}
}

func (l *lagging) tell() {
	clear(l.view)
	for _, x := range l.truth.All() {
		l.view[x.Address] = x
	}
}

// hears is what a Server does about a message that it does not leave.
func (l *lagging) hears(t *testing.T, m *dhcpv4.DHCPv4, clock time.Time, others ...*lagging) dhcp.Verdict {
	known := dhcp.Known{Leases: l, VMs: dhcp.NoVMs{}, Complete: true, Offered: func(a netip.Addr) string { return l.offers[a] }}
	for range 4 {
		v := dhcp.Reply(l.n, known, m, clock)
		if v.Outcome == dhcp.Offered {
			l.offers[v.Address] = v.MAC
		}
		if v.Next.Address.IsValid() {
			err := l.truth.Replace(t.Context(), v.Was, v.Next)
			l.told(v.Next.Address)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		if a := v.Remove.Address; a.IsValid() {
			_ = l.truth.Remove(t.Context(), v.Remove)
			for _, x := range append(others, l) {
				x.told(a)
			}
		}
		return v
	}
	return dhcp.Verdict{}
}

func laggards(n network.Network) [2]*lagging {
	truth, _ := dhcp.OpenFiles("")
	var edges [2]*lagging
	for i := range edges {
		edges[i] = &lagging{n, truth, map[netip.Addr]network.Lease{}, map[netip.Addr]string{}}
	}
	return edges
}

// TestLeasesAreExclusiveWithTwoEdges: an address that a client may use is never another
// client's. It holds whichever edges answer, and however late they see each other's
// leases.
func TestLeasesAreExclusiveWithTwoEdges(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := twice()
		n.DHCP.Range = network.Range{First: at("10"), Last: at("16")}
		edges, clock := laggards(n), now
		uses, has := map[netip.Addr]network.Lease{}, map[string]netip.Addr{}
		// ask has one edge answer, or both; the client heeds the first answer.
		ask := func(m *dhcpv4.DHCPv4) dhcp.Verdict {
			i, both := r.IntN(2), r.IntN(4) == 0
			v := edges[i].hears(t, m, clock, edges[1-i])
			if both || v.Answer == nil && r.IntN(2) == 0 {
				if second := edges[1-i].hears(t, m, clock, edges[i]); v.Answer == nil {
					v = second
				}
			}
			return v
		}
		for step := range 3000 {
			clock = clock.Add(time.Duration(r.IntN(200)) * time.Second)
			if r.IntN(3) == 0 {
				edges[r.IntN(2)].tell()
			}
			mac := fmt.Sprintf("02:00:00:00:00:%02x", r.IntN(12))
			mine := has[mac]
			held := mine.IsValid() && uses[mine].MAC == mac && clock.Before(uses[mine].Expires)
			var m *dhcpv4.DHCPv4
			switch kind := r.IntN(10); {
			case held && kind < 5:
				m = message(request, mac, dhcpv4.WithClientIP(mine.AsSlice()))
			case mine.IsValid() && kind < 6:
				m = message(request, mac, asks(mine.String()))
			case held && kind == 6:
				m = message(release, mac, dhcpv4.WithClientIP(mine.AsSlice()))
				delete(uses, mine)
				delete(has, mac)
			case held && kind == 7:
				m = message(decline, mac, asks(mine.String()))
				delete(uses, mine)
				delete(has, mac)
			default:
				offered := ask(message(discover, mac))
				if offered.Answer == nil {
					continue
				}
				m = message(request, mac, server(us), asks(offered.Address.String()))
			}
			v := ask(m)
			if v.Outcome != dhcp.Granted {
				continue
			}
			if other, ok := uses[v.Address]; ok && other.MAC != mac && clock.Before(other.Expires) {
				t.Fatalf("seed %d step %d: %s is given to %s while %s uses it until %s (now %s)", seed, step, v.Address, mac, other.MAC, other.Expires, clock)
			}
			uses[v.Address] = network.Lease{Address: v.Address, MAC: mac, Expires: clock.Add(v.Answer.IPAddressLeaseTime(0))}
			has[mac] = v.Address
		}
	}
}

// TestEitherEdgeGrantsAnOffer: one edge grants what the other one offered, if no other
// client got it meanwhile. It holds even if it offered the address to another client.
func TestEitherEdgeGrantsAnOffer(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 4))
		n := twice()
		n.DHCP.Range = network.Range{First: at("10"), Last: at("29")}
		n.DHCP.Reservations = []network.Reservation{{MAC: mac1, Address: at("7")}}
		edges, clock, granted := laggards(n), now, 0
		for range 300 {
			clock = clock.Add(time.Duration(r.IntN(100)) * time.Second)
			i := r.IntN(2)
			edges[1-i].tell()
			edges[i].tell()
			mac := fmt.Sprintf("02:00:00:00:00:%02x", r.IntN(30))
			m := message(discover, mac)
			if r.IntN(3) == 0 {
				m = message(discover, mac, asks(fmt.Sprint(5+r.IntN(30))))
			}
			offered := edges[i].hears(t, m, clock)
			if offered.Answer == nil {
				continue
			}
			edges[1-i].offers[offered.Address] = "02:00:00:00:00:99"
			if v := edges[1-i].hears(t, message(request, mac, server(us), asks(offered.Address.String())), clock, edges[i]); v.Outcome != dhcp.Granted || v.Address != offered.Address {
				t.Fatalf("seed %d: %s was offered %s and is %s %s", seed, mac, offered.Address, v.Outcome, v.Why)
			}
			granted++
		}
		if granted < 20 {
			t.Fatalf("seed %d: %d of 300 got anything", seed, granted)
		}
	}
}
