package reply_test

import (
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// reporting is a cluster with one VM, mac1's, and what is reported: MAC,
// last byte of the address, and so on.
func reporting(reports ...string) cluster {
	c := cluster{names: map[string]string{mac1: "blue-worker-1"}, reports: map[string]string{}, seen: true}
	for i := 0; i < len(reports); i += 2 {
		c.names[reports[i]] = "blue-worker-" + reports[i][16:]
		c.reports[reports[i]] = full(reports[i+1])
	}
	return c
}

// TestReportedAddresses: a VM keeps the address that it had before oooi served, and no
// other client gets it.
func TestReportedAddresses(t *testing.T) {
	second := netip.MustParseAddr("192.168.100.66")
	taken := maps.Clone(isMachine.names)
	taken[mac2] = "blue-worker-2"
	published := blue()
	published.PublishedAddresses = []netip.Addr{second}
	promised := changed(func(d *network.DHCP) { d.Reservations = []network.Reservation{{MAC: mac2, Address: second}} })
	machine := func(last, mac string, after time.Duration) network.Lease {
		l := held(last, mac, after)
		l.VM = "blue-worker-1"
		return l
	}
	check(t, map[string]row{
		"RENEWING: reported":                       {world{vms: reporting(mac1, "66")}, request, with(has("66")), reply.Granted, ack, "66", mac1, "", false},
		"RENEWING: reported outside of the range":  {world{vms: reporting(mac1, "254")}, request, with(has("254")), reply.Granted, ack, "254", mac1, "", false},
		"RENEWING: outside, leased when it was in": {world{vms: isMachine, leases: []network.Lease{machine("254", mac1, hour)}}, request, with(has("254")), reply.Granted, ack, "254", "", "", true},
		"RENEWING: outside, by its own word":       {world{vms: isMachine}, request, with(has("254")), reply.UnknownAddress, none, "", "", "", false},
		"RENEWING: outside, of an unknown client":  {world{leases: []network.Lease{held("254", mac1, hour)}}, request, with(has("254")), reply.Refused, nak, "", "", "", false},
		"RENEWING: the broadcast address":          {world{vms: reporting(mac1, "255")}, request, with(has("255")), reply.UnknownAddress, none, "", "", "", false},
		"RENEWING: reported, and an edge's":        {world{vms: reporting(mac1, "4")}, request, with(has("4")), reply.Refused, nak, "", "", "", false},
		"RENEWING: reported, and published":        {world{n: published, vms: reporting(mac1, "66")}, request, with(has("66")), reply.Refused, nak, "", "", "", false},
		"RENEWING: reported, and excluded": {
			world{n: excluded, vms: reporting(mac1, "20")}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", false},
		"RENEWING: reported and leased, and excluded since": {
			world{n: excluded, vms: reporting(mac1, "20"), leases: []network.Lease{machine("20", mac1, hour)}}, request, with(has("20")), reply.Granted, ack, "20", "", "", true},
		"RENEWING: leased, excluded since, and its agent is down": {
			world{n: excluded, vms: isMachine, leases: []network.Lease{machine("20", mac1, hour)}}, request, with(has("20")), reply.Granted, ack, "20", "", "", true},
		"RENEWING: leased, excluded since, and its agent reports another": {
			world{n: excluded, vms: reporting(mac1, "66"), leases: []network.Lease{machine("20", mac1, hour)}}, request, with(has("20")), reply.Granted, ack, "20", "", "", true},
		"DISCOVER: reported, and excluded":                         {world{n: excluded, vms: reporting(mac1, "20")}, discover, nil, reply.Offered, offer, "20", "", "", false},
		"DISCOVER: leased, excluded since, and no longer reported": {world{n: excluded, vms: isMachine, leases: []network.Lease{machine("20", mac1, hour)}}, discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"RENEWING: reported, and its reservation is another": {
			world{n: reserved, vms: reporting(mac1, "66")}, request, with(has("66")), reply.Granted, ack, "66", mac1, "", false},
		"RENEWING: leased, its reservation is another, and its agent is down": {
			world{n: reserved, vms: isMachine, leases: []network.Lease{machine("66", mac1, hour)}}, request, with(has("66")), reply.Granted, ack, "66", "", "", true},
		"RENEWING: reported, and its reservation is in use by another": {
			world{n: reserved, vms: reporting(mac1, "66", mac2, "7")}, request, with(has("66")), reply.Granted, ack, "66", mac1, "", false},
		"RENEWING: reported, and reserved for another": {
			world{n: promised, vms: reporting(mac1, "66")}, request, with(has("66")), reply.UnknownAddress, none, "", "", "", false},
		"DISCOVER: reported, and reserved for another": {
			world{n: promised, vms: reporting(mac1, "66")}, discover, with(asks("66")), reply.Offered, offer, ofMAC1, "", "", false},
		"SELECTING: reported, and reserved for another": {
			world{n: promised, vms: reporting(mac1, "66")}, request, with(server(us), asks("66")), reply.Refused, nak, "", "", "", false},
		"RENEWING: reported and leased, and reserved for another since": {
			world{n: promised, vms: reporting(mac1, "66"), leases: []network.Lease{machine("66", mac1, hour)}},
			request, with(has("66")), reply.Granted, ack, "66", "", "", true},
		"RENEWING: reported, and reserved for and leased to another": {
			world{n: promised, vms: reporting(mac1, "66"), leases: []network.Lease{held("66", mac2, hour)}}, request, with(has("66")), reply.Refused, nak, "", "", "", false},
		"RENEWING: reported outside of the CIDR": {
			world{vms: cluster{names: isMachine.names, reports: map[string]string{mac1: "10.9.9.11"}}}, request, with(has("10.9.9.11")), reply.UnknownAddress, none, "", "", "", false},
		"INIT-REBOOT: reported outside of the CIDR": {
			world{vms: cluster{names: isMachine.names, reports: map[string]string{mac1: "10.9.9.11"}}}, request, with(asks("10.9.9.11")), reply.UnknownAddress, none, "", "", "", false},
		"RENEWING: outside of the CIDR, reported elsewhere": {
			world{vms: cluster{names: isMachine.names, reports: map[string]string{mac1: "10.9.9.11"}}}, request, with(has("10.9.9.12")), reply.Refused, nak, "", "", "", false},
		"RENEWING: reported by two, and it is the other's": {
			world{vms: cluster{names: taken, reports: map[string]string{mac2: "192.168.100.66"}}}, request, with(has("66")), reply.Refused, nak, "", "", "", false},
		"RENEWING: reported by another, but leased to it": {
			world{vms: reporting(mac2, "20"), leases: []network.Lease{machine("20", mac1, hour)}}, request, with(has("20")), reply.Granted, ack, "20", "", "", true},
		"RENEWING: reported elsewhere since its lease ran out": {
			world{vms: reporting(mac1, "66"), leases: []network.Lease{machine("20", mac1, -hour)}}, request, with(has("66")), reply.Granted, ack, "66", mac1, "20", false},
		"INIT-REBOOT: outside, by its own word": {world{vms: isMachine}, request, with(asks("254")), reply.UnknownAddress, none, "", "", "", false},
		"DISCOVER: option 50 outside":           {world{vms: isMachine}, discover, with(asks("254")), reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: reported outside":            {world{vms: reporting(mac1, "254")}, discover, nil, reply.Offered, offer, "254", "", "", false},
		"SELECTING: another machine's, reported": {
			world{vms: reporting(mac2, "66")}, request, with(server(us), asks("66")), reply.Refused, nak, "", "", "", false},
		"INIT-REBOOT: another machine's, reported": {
			world{vms: reporting(mac2, "66")}, request, with(asks("66")), reply.Refused, nak, "", "", "", false},
		"DISCOVER: vms have not all been seen":                {world{partial: true}, discover, nil, reply.NotReady, none, "", "", "", false},
		"DISCOVER: vms have not all been seen, a known lease": {world{partial: true, leases: mine}, discover, nil, reply.Offered, offer, "20", "", "", false},
	})
}

// TestVMsOfAnotherCluster: two hosted clusters share a network. A VM of the other one gets no answer, and keeps its address.
func TestVMsOfAnotherCluster(t *testing.T) {
	neighbour := "192.168.100.9"
	check(t, map[string]row{
		"DISCOVER":                       {world{n: strict}, discover, nil, reply.UnknownClient, none, "", "", "", false},
		"SELECTING: the neighbour's":     {world{n: strict}, request, with(server(neighbour), asks("20")), reply.OtherServer, none, "", "", "", false},
		"SELECTING: ours":                {world{n: strict}, request, with(server(us), asks("20")), reply.UnknownClient, none, "", "", "", false},
		"INIT-REBOOT":                    {world{n: strict}, request, with(asks("20")), reply.UnknownClient, none, "", "", "", false},
		"INIT-REBOOT: another network":   {world{n: strict}, request, with(asks("10.0.0.1")), reply.UnknownClient, none, "", "", "", false},
		"REBINDING":                      {world{n: strict}, request, with(has("20")), reply.UnknownClient, none, "", "", "", false},
		"REBINDING: our machine's":       {world{n: strict, leases: others}, request, with(has("20")), reply.UnknownClient, none, "", "", "", false},
		"DECLINE":                        {world{n: strict, leases: others}, decline, with(server(us), asks("20")), reply.UnknownClient, none, "", "", "", false},
		"RELEASE: our machine's":         {world{n: strict, leases: others}, release, with(server(us), has("20")), reply.UnknownClient, none, "", "", "", false},
		"INFORM":                         {world{n: strict}, inform, with(has("200")), reply.UnknownClient, none, "", "", "", false},
		"REBINDING: ours":                {world{n: strict, vms: isMachine}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", false},
		"SELECTING: ours from neighbour": {world{n: strict, vms: isMachine}, request, with(server(neighbour), asks("20")), reply.OtherServer, none, "", "", "", false},
		"REBINDING: of a machine that is gone, once ours": {
			world{n: strict, vms: cluster{seen: true}, leases: []network.Lease{{Address: at("20"), MAC: mac1, VM: "blue-worker-1", Expires: now.Add(hour)}}},
			request, with(has("20")), reply.UnknownClient, none, "", "", "", false},
	})
}

// TestReservedForVMs: an unknown client gets only addresses that are not reserved for VMs,
// and keeps its lease.
func TestReservedForVMs(t *testing.T) {
	// Five addresses, of which VMs may need three.
	small := changed(func(d *network.DHCP) {
		d.Range = network.Range{First: at("10"), Last: at("14")}
		d.ReservedForVMs = 3
	})
	exclude := small
	exclude.DHCP.Exclude = []network.Range{{First: at("14"), Last: at("14")}}
	one, two := held("10", mac2, hour), held("11", "02:00:00:00:00:03", hour)
	gone := network.Lease{Address: at("11"), MAC: "02:00:00:00:00:03", VM: "blue-old", Expires: now.Add(hour)}
	asking := func(leases ...network.Lease) world { return world{n: small, leases: leases} }
	owned := func(w world, c cluster) world { w.vms = c; return w }
	const place = "12"
	check(t, map[string]row{
		"DISCOVER: all are free":                             {asking(), discover, nil, reply.Offered, offer, place, "", "", false},
		"DISCOVER: one more":                                 {asking(one), discover, nil, reply.Offered, offer, place, "", "", false},
		"DISCOVER: unknown clients have two of five":         {asking(one, two), discover, nil, reply.ReservedForVMs, none, "", "", "", false},
		"DISCOVER: ... one of which ran out":                 {asking(one, held("11", "02:00:00:00:00:03", -hour)), discover, nil, reply.Offered, offer, place, "", "", false},
		"DISCOVER: ... one of which is in quarantine":        {asking(one, held("11", "", hour)), discover, nil, reply.ReservedForVMs, none, "", "", "", false},
		"DISCOVER: ... one of which is a machine's":          {owned(asking(one, two), cluster{names: map[string]string{two.MAC: "blue-worker-3"}}), discover, nil, reply.Offered, offer, place, "", "", false},
		"DISCOVER: ... one of which a machine reports":       {owned(asking(one), cluster{names: map[string]string{two.MAC: "blue-worker-3"}, reports: map[string]string{two.MAC: "192.168.100.11"}}), discover, nil, reply.Offered, offer, place, "", "", false},
		"DISCOVER: ... one of which a machine had, now gone": {owned(asking(one, gone), cluster{seen: true}), discover, nil, reply.Offered, offer, place, "", "", false},
		"DISCOVER: four of which are not excluded":           {world{n: exclude, leases: []network.Lease{one}}, discover, nil, reply.ReservedForVMs, none, "", "", "", false},
		"DISCOVER: a machine":                                {owned(asking(one, two), isMachine), discover, nil, reply.Offered, offer, place, "", "", false},
		"SELECTING: strangers have two of five":              {asking(one, two), request, with(server(us), asks("13")), reply.Refused, nak, "", "", "", false},
		"SELECTING: a machine":                               {owned(asking(one, two), isMachine), request, with(server(us), asks("13")), reply.Granted, ack, "13", mac1, "", false},
		"RENEWING: what it holds":                            {asking(one, two, held("12", mac1, hour)), request, with(has("12")), reply.Granted, ack, "12", "", "", true},
		"RENEWING: what it held until lately":                {asking(one, two, held("12", mac1, -time.Minute)), request, with(has("12")), reply.Granted, ack, "12", mac1, "", true},
		"RENEWING: what anybody could have by now":           {asking(one, two, held("12", mac1, -hour)), request, with(has("12")), reply.Refused, nak, "", "", "", false},
		"DISCOVER: what anybody could have by now":           {asking(one, two, held("12", mac1, -hour)), discover, nil, reply.ReservedForVMs, none, "", "", "", false},
		"RENEWING: a lease that was lost":                    {asking(one, two), request, with(has("12")), reply.Refused, nak, "", "", "", false},
		"RENEWING: while vms are not known": {
			world{n: small, leases: []network.Lease{one, two}, partial: true}, request, with(has("12")), reply.Granted, ack, "12", mac1, "", false},
	})
}

// TestCollectable: a lease is kept for a day after its address has become free. The lease of a running VM is kept without limit.
func TestCollectable(t *testing.T) {
	const lease = 10 * time.Minute
	over := held("20", mac2, -24*time.Hour-lease-time.Second)
	gone := over
	gone.VM = "blue-old"
	for name, c := range map[string]struct {
		lease network.Lease
		in    cluster
		want  bool
	}{
		"held":                             {held("20", mac2, hour), cluster{}, false},
		"a stranger's, over for a day":     {over, cluster{}, true},
		"a stranger's, not quite":          {held("20", mac2, -24*time.Hour), cluster{}, false},
		"a gone machine's, over for a day": {gone, cluster{seen: true}, true},
		"a gone machine's, over since now": {network.Lease{Address: at("20"), MAC: mac2, VM: "blue-old", Expires: now.Add(-hour)}, cluster{seen: true}, false},
		"a running machine's":              {over, cluster{names: map[string]string{mac2: "blue-worker-2"}}, false},
		"declined yesterday":               {held("20", "", -25*time.Hour), cluster{}, true},
		"declined just now":                {held("20", "", hour), cluster{}, false},
	} {
		if got := reply.Collectable(c.lease, lease, c.in, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
