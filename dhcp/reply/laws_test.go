package reply_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// TestPool: the server assigns the whole pool, and then does not answer. It uses an address again that expired long ago.
func TestPool(t *testing.T) {
	g := NewWithT(t)
	n := blue()
	n.DHCP.Range = network.Range{First: at("10"), Last: at("19")}
	w := world{n: n}
	for i := range 10 {
		v := w.says(message(dhcpv4.MessageTypeDiscover, fmt.Sprintf("02:00:00:00:01:%02x", i)))
		g.Expect(v.Outcome).To(Equal(reply.Offered), "client %d", i)
		w.leases = append(w.leases, network.Lease{Address: v.Address, MAC: v.MAC, Expires: now.Add(time.Hour)})
	}
	next := message(dhcpv4.MessageTypeDiscover, mac1)
	g.Expect(w.says(next).Outcome).To(Equal(reply.Exhausted))
	w.leases[3].Expires = now.Add(-time.Hour)
	g.Expect(w.says(next).Address).To(Equal(w.leases[3].Address))
}

// TestOffersReserveNothing: a DHCPDISCOVER does not make an address unavailable to other clients.
func TestOffersReserveNothing(t *testing.T) {
	g := NewWithT(t)
	w := world{offered: map[string]string{}}
	for a := at("10"); w.n.DHCP.Range.Last != a && a.Compare(at("253")) <= 0; a = a.Next() {
		w.offered[a.String()] = mac2
	}
	g.Expect(w.says(message(dhcpv4.MessageTypeDiscover, mac1)).Address).To(Equal(at(ofMAC1)))
}

// TestEdgesAgree: two edges with the same leases offer the same address, and mostly
// different ones to different VMs.
func TestEdgesAgree(t *testing.T) {
	g := NewWithT(t)
	seen := map[netip.Addr]int{}
	for i := range 100 {
		m := message(dhcpv4.MessageTypeDiscover, fmt.Sprintf("02:00:00:00:02:%02x", i))
		a, b := world{}.says(m), world{}.says(m)
		g.Expect(a.Address).To(Equal(b.Address))
		seen[a.Address]++
	}
	g.Expect(len(seen)).To(BeNumerically(">", 60), "neighbouring MACs spread over the range")
}

// TestLeasesAreExclusive: over any schedule of clients, expiries and failed writes, an
// address that a client may use is never another client's.
func TestLeasesAreExclusive(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := blue()
		n.DHCP.Range = network.Range{First: at("10"), Last: at("16")}
		store := &leases.Memory{}
		clock := now
		uses := map[netip.Addr]network.Lease{} // as the clients believe
		has := map[string]netip.Addr{}
		for step := range 3000 {
			clock = clock.Add(time.Duration(r.IntN(200)) * time.Second)
			mac := fmt.Sprintf("02:00:00:00:00:%02x", r.IntN(12))
			known := reply.Known{Leases: store, VMs: reply.NoVMs{}, Complete: true, Fresh: true, Offered: func(netip.Addr) string { return "" }}
			var m *dhcpv4.DHCPv4
			mine := has[mac]
			held := mine.IsValid() && uses[mine].MAC == mac && clock.Before(uses[mine].Expires)
			switch kind := r.IntN(10); {
			case held && kind < 5:
				m = message(dhcpv4.MessageTypeRequest, mac, dhcpv4.WithClientIP(mine.AsSlice()))
			case mine.IsValid() && kind < 6:
				m = message(dhcpv4.MessageTypeRequest, mac, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(mine.AsSlice())))
			case held && kind == 6:
				m = message(dhcpv4.MessageTypeRelease, mac, dhcpv4.WithClientIP(mine.AsSlice()))
				delete(uses, mine)
				delete(has, mac)
			case held && kind == 7:
				m = message(dhcpv4.MessageTypeDecline, mac, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(mine.AsSlice())))
				delete(uses, mine)
				delete(has, mac)
			default:
				offer := reply.Decide(n, known, message(dhcpv4.MessageTypeDiscover, mac), clock)
				if offer.Answer == nil {
					continue
				}
				m = message(dhcpv4.MessageTypeRequest, mac, server(us), dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(offer.Address.AsSlice())))
			}
			v, most := reply.Decide(n, known, m, clock), hour
			if v.Next.Address.IsValid() {
				switch away := r.IntN(5) == 0; {
				case away && !v.Anyway.IsZero():
					most = v.Anyway.Sub(clock)
				case away:
					continue
				default:
					if err := store.Replace(t.Context(), v.Was, v.Next); err != nil {
						t.Fatal(err)
					}
				}
			}
			if a := v.Remove.Address; a.IsValid() {
				_ = store.Remove(t.Context(), v.Remove)
			}
			if v.Outcome != reply.Granted {
				continue
			}
			if other, ok := uses[v.Address]; ok && other.MAC != mac && clock.Before(other.Expires) {
				t.Fatalf("seed %d step %d: %s is given to %s while %s uses it until %s (now %s)", seed, step, v.Address, mac, other.MAC, other.Expires, clock)
			}
			lease := min(v.Answer.IPAddressLeaseTime(0), most)
			uses[v.Address] = network.Lease{Address: v.Address, MAC: mac, Expires: clock.Add(lease)}
			has[mac] = v.Address
		}
	}
}

// FuzzReply: no packet stops the server. No answer is larger than the client accepts, assigns an address of an edge, or promises what is
// not stored. Of two edges, at least one does not leave the packet to the other.
func FuzzReply(f *testing.F) {
	for _, t := range []dhcpv4.MessageType{1, 3, 4, 7, 8} {
		f.Add(message(t, mac1, parameters(rhcos...), asks("20")).ToBytes())
		f.Add(message(t, mac1, has("20"), server(us)).ToBytes())
	}
	whole := message(dhcpv4.MessageTypeDiscover, mac1, parameters(rhcos...)).ToBytes()
	for i := 0; i < len(whole); i += 9 {
		f.Add(whole[:i])
	}
	n := blue()
	w := world{leases: []network.Lease{held("20", mac1, time.Hour)}}
	known, two, seen := w.known(), twice(), reply.Sent{PeerServes: true}
	f.Fuzz(func(t *testing.T, packet []byte) {
		m, err := dhcpv4.FromBytes(packet)
		if err != nil {
			return
		}
		if reply.Defers(two, 1, m, seen) && reply.Defers(two, 2, m, seen) {
			t.Fatal("left by both")
		}
		v := reply.Decide(n, known, m, now)
		if v.Answer == nil {
			return
		}
		if size := len(v.Answer.ToBytes()); size > 1472 {
			t.Fatalf("answer of %d bytes", size)
		}
		if v.Outcome != reply.Granted && v.Outcome != reply.Offered {
			return
		}
		if !n.DHCP.Range.Contains(v.Address) {
			t.Fatalf("gave %s", v.Address)
		}
		if l, ok := known.Leases.At(v.Address); v.Outcome == reply.Granted && !v.Next.Address.IsValid() && (!ok || l.MAC != v.MAC) {
			t.Fatalf("granted %s to %s without a write", v.Address, v.MAC)
		}
	})
}

// TestReservationHolds: whatever unknown clients do, VMs get as many addresses as the plan reserves for them.
func TestReservationHolds(t *testing.T) {
	const kept = 5
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := blue()
		n.DHCP.Range, n.DHCP.ReservedForVMs = network.Range{First: at("10"), Last: at("21")}, kept
		n.DHCP.Exclude = []network.Range{{First: at("12"), Last: at("13")}}
		vms := cluster{names: map[string]string{}, seen: true}
		for i := range kept {
			vms.names[fmt.Sprintf("02:00:00:00:0a:%02x", i)] = fmt.Sprint("blue-worker-", i)
		}
		store := &leases.Memory{}
		clock := now
		// boots reports whether the client has an address in the end.
		boots := func(mac string) bool {
			k := reply.Known{Leases: store, VMs: vms, Complete: true, Fresh: true, Offered: func(netip.Addr) string { return "" }}
			k.PoolRemaining = func() int { return reply.PoolRemaining(n, k, clock) }
			offer := reply.Decide(n, k, message(dhcpv4.MessageTypeDiscover, mac), clock)
			if offer.Answer == nil {
				return false
			}
			v := reply.Decide(n, k, message(dhcpv4.MessageTypeRequest, mac, server(us), dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(offer.Address.AsSlice()))), clock)
			if v.Next.Address.IsValid() {
				if err := store.Replace(t.Context(), v.Was, v.Next); err != nil {
					t.Fatal(err)
				}
			}
			return v.Outcome == reply.Granted
		}
		strangers := 0
		for range 200 {
			clock = clock.Add(time.Duration(r.IntN(120)) * time.Second)
			if r.IntN(10) == 0 {
				boots(fmt.Sprintf("02:00:00:00:0a:%02x", r.IntN(kept)))
			} else if boots(fmt.Sprintf("02:00:00:00:0b:%02x", r.IntN(40))) {
				strangers++
			}
		}
		if strangers == 0 {
			t.Fatalf("seed %d: no stranger got an address", seed)
		}
		for mac := range vms.names {
			if !boots(mac) {
				t.Fatalf("seed %d: no address for machine %s", seed, mac)
			}
		}
	}
}
