// This file tests which addresses come back: of VMs that are gone, of a VM with a new MAC, and reserved
// ones.

package reply_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const mac3 = "02:00:00:00:00:03"

// of is a lease of a VM that ends some time after now.
func of(vm, last, mac string, after time.Duration) network.Lease {
	l := held(last, mac, after)
	l.VM = vm
	return l
}

// TestAddressesOfGoneVMs: the address of a VM that no longer exists is free, whatever its lease says. That of an existing VM is not.
func TestAddressesOfGoneVMs(t *testing.T) {
	one := changed(func(d *network.DHCP) { d.Range = network.Range{First: at("20"), Last: at("20")} })
	in := func(c cluster, l network.Lease) world { return world{n: one, vms: c, leases: []network.Lease{l}} }
	there := cluster{names: map[string]string{mac1: "blue-worker-1", mac2: "blue-worker-2"}, seen: true}
	renamed := cluster{names: map[string]string{mac1: "blue-worker-1", mac2: "blue-other"}, seen: true}
	week := 7 * 24 * time.Hour
	check(t, map[string]row{
		"DISCOVER: it is gone":             {in(isMachine, of("blue-gone", "20", mac2, hour)), discover, nil, reply.Offered, offer, "20", "", "", false},
		"DISCOVER: it is gone, long lease": {in(isMachine, of("blue-gone", "20", mac2, week)), discover, nil, reply.Offered, offer, "20", "", "", false},
		"SELECTING: it is gone":            {in(isMachine, of("blue-gone", "20", mac2, week)), request, with(server(us), asks("20")), reply.Granted, ack, "20", mac1, "", false},
		"DISCOVER: it exists":              {in(there, of("blue-worker-2", "20", mac2, hour)), discover, nil, reply.Exhausted, none, "", "", "", false},
		"DISCOVER: its MAC is of a VM with another name": {
			in(renamed, of("blue-worker-2", "20", mac2, hour)), discover, nil, reply.Exhausted, none, "", "", "", false},
		"DISCOVER: not known whether it exists": {
			in(cluster{names: isMachine.names}, of("blue-gone", "20", mac2, hour)), discover, nil, reply.Exhausted, none, "", "", "", false},
		"DISCOVER: an unknown client's": {in(isMachine, held("20", mac2, hour)), discover, nil, reply.Exhausted, none, "", "", "", false},
		"RENEWING: it still uses its address": {
			world{n: one, vms: cluster{seen: true}, leases: []network.Lease{of("blue-gone", "20", mac1, hour)}}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", true},
	})
}

// TestAddressesOfGoneVMsComeLast: while another address is free, no client gets the address of a VM that no longer exists. It does not
// matter whether the client requests the address or claims to have it.
func TestAddressesOfGoneVMsComeLast(t *testing.T) {
	gone := of("blue-gone", "20", mac2, hour)
	there := cluster{seen: true}
	in := world{vms: there, leases: []network.Lease{gone}}
	two := changed(func(d *network.DHCP) { d.Range = network.Range{First: at("20"), Last: at("21")} })
	full := world{n: two, vms: there, leases: []network.Lease{of("blue-gone", "21", mac3, hour), gone}}
	check(t, map[string]row{
		"DISCOVER":                    {in, discover, with(asks("20")), reply.Offered, offer, ofMAC1, "", "", false},
		"SELECTING":                   {in, request, with(server(us), asks("20")), reply.Refused, nak, "", "", "", false},
		"RENEWING":                    {in, request, with(has("20")), reply.Refused, nak, "", "", "", false},
		"DISCOVER: no other is free":  {full, discover, with(asks("20")), reply.Offered, offer, "20", "", "", false},
		"DISCOVER: the other one":     {full, discover, with(asks("21")), reply.Offered, offer, "21", "", "", false},
		"SELECTING: no other is free": {full, request, with(server(us), asks("20")), reply.Granted, ack, "20", mac1, "", false},
		"DISCOVER: its lease is over": {world{vms: there, leases: []network.Lease{of("blue-gone", "20", mac2, -2*hour)}}, discover, with(asks("20")), reply.Offered, offer, "20", "", "", false},
		"DISCOVER: the VM itself":     {world{vms: there, leases: []network.Lease{of("blue-gone", "20", mac1, hour)}}, discover, nil, reply.Offered, offer, "20", "", "", false},
	})
}

// TestNewMACInherits: a VM that has a new MAC gets its previous address. No other client gets it, and neither does a second interface of
// the VM.
func TestNewMACInherits(t *testing.T) {
	former := of("blue-worker-1", "66", mac2, hour)
	is := func(names ...string) cluster {
		c := cluster{names: map[string]string{}, seen: true}
		for i := 0; i < len(names); i += 2 {
			c.names[names[i]] = names[i+1]
		}
		return c
	}
	in := func(c cluster, all ...network.Lease) world { return world{vms: c, leases: all} }
	restarted, two := is(mac1, "blue-worker-1"), is(mac1, "blue-worker-1", mac2, "blue-worker-1")
	check(t, map[string]row{
		"DISCOVER":                            {in(restarted, former), discover, nil, reply.Offered, offer, "66", "", "", false},
		"SELECTING":                           {in(restarted, former), request, with(server(us), asks("66")), reply.Granted, ack, "66", mac1, "", false},
		"INIT-REBOOT: its disk remembers it":  {in(restarted, former), request, with(asks("66")), reply.Granted, ack, "66", mac1, "", false},
		"DISCOVER: the lease is over":         {in(restarted, of("blue-worker-1", "66", mac2, -hour)), discover, nil, reply.Offered, offer, "66", "", "", false},
		"DISCOVER: the last of two":           {in(restarted, of("blue-worker-1", "67", mac3, -time.Minute), former), discover, nil, reply.Offered, offer, "66", "", "", false},
		"DISCOVER: it has another by now":     {in(restarted, former, of("blue-worker-1", "70", mac1, hour)), discover, nil, reply.Offered, offer, "70", "", "", false},
		"DISCOVER: the VM has both MACs":      {in(two, former), discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: another VM":                {in(is(mac1, "blue-worker-2"), former), discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: an unknown client":         {in(is(), former), discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: the address is excluded":   {world{n: excluded, vms: restarted, leases: []network.Lease{of("blue-worker-1", "20", mac2, hour)}}, discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: a quarantine has no heirs": {in(restarted, of("blue-worker-1", "66", "", hour)), discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
	})
}

// TestReservationInUse: while another client uses the address that is reserved for a client, that client gets an address like clients
// without a reservation. Later it gets its reservation. The server reports reservations in use.
func TestReservationInUse(t *testing.T) {
	g := NewWithT(t)
	kept := func(l ...network.Lease) world { return world{n: reserved, leases: l} }
	other := held("7", mac2, hour)
	check(t, map[string]row{
		"DISCOVER: in use":           {kept(other), discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"SELECTING: in use":          {kept(other), request, with(server(us), asks("47")), reply.Granted, ack, "47", mac1, "", false},
		"RENEWING: still in use":     {kept(other, held("47", mac1, hour)), request, with(has("47")), reply.Granted, ack, "47", "", "", true},
		"DISCOVER: in quarantine":    {kept(held("7", "", hour)), discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: it is free":       {kept(held("47", mac1, hour)), discover, nil, reply.Offered, offer, "7", "", "", false},
		"SELECTING: another's":       {kept(other), request, with(server(us), asks("7")), reply.Refused, nak, "", "", "", false},
		"DISCOVER: of a former VM's": {kept(of("blue-gone", "7", mac2, hour)), discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
	})
	told := func(l ...network.Lease) []reported.ReservationInUse {
		return reply.ReservationsInUse(reserved, kept(l...).known(), now)
	}
	g.Expect(told(other)).To(BeEmpty(), "its client is not there")
	g.Expect(told(held("47", mac1, hour))).To(BeEmpty(), "it is free")
	g.Expect(told(other, held("47", mac1, hour))).To(Equal([]reported.ReservationInUse{
		{UsedAddress: reported.UsedAddress{Address: at("7"), MAC: mac2}, ReservedFor: mac1}}))
}

// TestPoolOf: the pool counts each address of the range once.
func TestPoolOf(t *testing.T) {
	g := NewWithT(t)
	n := changed(func(d *network.DHCP) {
		d.Range = network.Range{First: at("10"), Last: at("29")}
		d.Exclude = []network.Range{{First: at("12"), Last: at("13")}}
		d.Named, d.Reservations = []netip.Addr{at("14")}, []network.Reservation{{MAC: mac3, Address: at("15")}}
	})
	w := world{n: n, vms: reporting(mac1, "20", mac2, "21"), leases: []network.Lease{
		held("10", "02:00:00:00:00:0a", hour), held("12", "02:00:00:00:00:0b", hour), held("200", "02:00:00:00:00:0c", hour),
		held("16", "", hour), held("17", "", -hour), of("blue-gone", "18", "02:00:00:00:00:0d", hour), held("21", mac2, hour),
	}}
	g.Expect(reply.PoolOf(n, w.known(), now)).To(Equal(reported.PoolUse{Size: 16, Assigned: 3, Declined: 1, Free: 12}))
}

// TestPoolIsWhatClientsGet: in any plan, the pool contains exactly the addresses that clients without a reservation can get.
func TestPoolIsWhatClientsGet(t *testing.T) {
	g := NewWithT(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		some := func() netip.Addr { return at(fmt.Sprint(5 + r.IntN(30))) }
		n := changed(func(d *network.DHCP) {
			d.Range = network.Range{First: at("10"), Last: at("29")}
			first := some()
			d.Exclude = []network.Range{{First: first, Last: first.Next().Next()}}
			d.Named, d.Reservations = []netip.Addr{some()}, []network.Reservation{{MAC: mac3, Address: some()}}
			d.Router = some()
		})
		n.NextHopVIP, n.ServiceVIP = some(), some()
		n.ReservedAddresses, n.PublishedAddresses = []netip.Addr{some(), some()}, []netip.Addr{some()}
		n.Edges = []network.Edge{{Address: some()}, {Number: 1, Address: some()}}
		size := 0
		for a := n.DHCP.Range.First; n.DHCP.Range.Contains(a); a = a.Next() {
			v := world{n: n}.says(message(discover, mac1, asks(a.String())))
			if v.Address == a {
				size++
			}
			w := world{n: n, leases: []network.Lease{{Address: a, Expires: now.Add(time.Hour)}}}
			g.Expect(reply.PoolOf(n, w.known(), now).Declined == 1).To(Equal(v.Address == a), "seed %d, %s", seed, a)
		}
		g.Expect(reply.PoolOf(n, world{n: n}.known(), now).Size).To(Equal(size), "seed %d", seed)
	}
}
