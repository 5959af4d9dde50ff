package reply_test

import (
	"iter"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// A world is what is known in a table's row.
type world struct {
	n       network.Network
	leases  []network.Lease
	vms     cluster
	offered map[string]string
	// partial: not all leases are known, or not all vms.
	partial bool
	// cut: the store does not answer.
	cut bool
	// shared: a peer writes the same leases.
	shared bool
}

// A cluster is what is known of vms, as a table writes it.
type cluster struct {
	names   map[string]string // by MAC
	reports map[string]string // address by MAC
	seen    bool
}

func (c cluster) VM(mac string) (string, netip.Addr, bool) {
	name, ok := c.names[mac]
	a, _ := netip.ParseAddr(c.reports[mac])
	return name, a, ok
}

func (c cluster) Reporter(a netip.Addr) string {
	for mac, reported := range c.reports {
		if reported == a.String() {
			return mac
		}
	}
	return ""
}

func (c cluster) All() iter.Seq2[string, netip.Addr] {
	return func(yield func(string, netip.Addr) bool) {
		for mac := range c.names {
			_, a, _ := c.VM(mac)
			if !yield(mac, a) {
				return
			}
		}
	}
}

func (c cluster) Ready() error { return nil }

func (c cluster) Gone(name string) bool {
	for _, n := range c.names {
		if n == name {
			return false
		}
	}
	return c.seen
}

func (w world) known() reply.Known {
	memory := &leases.Memory{}
	for _, l := range w.leases {
		_ = memory.Replace(nil, network.Lease{}, l) //nolint:staticcheck // there is no I/O to cancel
	}
	k := reply.Known{
		Leases: memory, VMs: w.vms, Complete: !w.partial, Fresh: !w.cut, Shared: w.shared,
		Offered: func(a netip.Addr) string { return w.offered[a.String()] },
	}
	if w.n.DHCP.ReservedForVMs > 0 {
		k.PoolRemaining = func() int { return reply.PoolRemaining(w.n, k, now) }
	}
	return k
}

func (w world) says(m *dhcpv4.DHCPv4) reply.Verdict {
	if w.n.Name == "" {
		w.n = blue()
	}
	return reply.Decide(w.n, w.known(), m, now)
}

// ofMAC1 is the place of mac1 in the range where everything is free.
const ofMAC1 = "47"

// What the rows begin with: 192.168.100.20 is mac1's, or mac2's.
var (
	mine      = []network.Lease{held("20", mac1, hour)}
	others    = []network.Lease{held("20", mac2, hour)}
	isMachine = cluster{names: map[string]string{mac1: "blue-worker-1"}, seen: true}
	reserved  = changed(func(d *network.DHCP) { d.Reservations = []network.Reservation{{MAC: mac1, Address: at("7")}} })
	excluded  = changed(func(d *network.DHCP) { d.Exclude = []network.Range{{First: at("20"), Last: at("29")}} })
	strict    = changed(func(d *network.DHCP) { d.IgnoreUnknownClients = true })
	named     = changed(func(d *network.DHCP) { d.Named = []netip.Addr{at("20")} })
)

func with(m ...dhcpv4.Modifier) []dhcpv4.Modifier { return m }

// A row is one message of mac1 in a world, and what is done about it.
type row struct {
	in      world
	kind    dhcpv4.MessageType
	fields  []dhcpv4.Modifier
	outcome reply.Outcome
	answer  dhcpv4.MessageType
	yiaddr  string
	writes  string // the MAC that is written, "-" for a declined address
	removes string
	anyway  bool // granted without a write, where that fails
}

// TestDiscover: RFC 2131 section 4.3.1.
func TestDiscover(t *testing.T) {
	check(t, map[string]row{
		"DISCOVER: a place that follows from the MAC":                 {world{}, discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: what it has":                                       {world{leases: mine}, discover, nil, reply.Offered, offer, "20", "", "", false},
		"DISCOVER: what it has, not what it asks for":                 {world{leases: mine}, discover, with(asks("30")), reply.Offered, offer, "20", "", "", false},
		"DISCOVER: what it had, long ago":                             {world{leases: []network.Lease{held("20", mac1, -999*hour)}}, discover, nil, reply.Offered, offer, "20", "", "", false},
		"DISCOVER: option 50 where it is free":                        {world{}, discover, with(asks("30")), reply.Offered, offer, "30", "", "", false},
		"DISCOVER: option 50 where another has it":                    {world{leases: others}, discover, with(asks("20")), reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: option 50 of ours":                                 {world{}, discover, with(asks("3")), reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: option 50 outside":                                 {world{}, discover, with(asks("10.0.0.1")), reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: a reservation, also outside of the range":          {world{n: reserved, leases: mine}, discover, nil, reply.Offered, offer, "7", "", "", false},
		"DISCOVER: an address with a name is not given":               {world{n: named}, discover, with(asks("20")), reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: an address with a name stays its client's":         {world{n: named, leases: mine}, discover, nil, reply.Offered, offer, "20", "", "", false},
		"DISCOVER: another's reservation is not given":                {world{n: reserved}, discover, with(asks("7"), dhcpv4.WithHwAddr(net.HardwareAddr{2, 0, 0, 0, 0, 2})), reply.Offered, offer, "128", "", "", false},
		"DISCOVER: an excluded address is left":                       {world{n: excluded, leases: mine}, discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: what its machine is reported to have":              {world{vms: cluster{names: isMachine.names, reports: map[string]string{mac1: "192.168.100.66"}}}, discover, nil, reply.Offered, offer, "66", "", "", false},
		"DISCOVER: never what another machine is reported to have":    {world{vms: cluster{reports: map[string]string{mac2: "192.168.100.47"}}}, discover, nil, reply.Offered, offer, "48", "", "", false},
		"DISCOVER: not what was just offered to another":              {world{offered: map[string]string{"192.168.100.47": mac2}}, discover, nil, reply.Offered, offer, "48", "", "", false},
		"DISCOVER: another's that expired stays its for a lease time": {world{leases: []network.Lease{held("47", mac2, -5*time.Minute)}}, discover, with(asks("47")), reply.Offered, offer, "48", "", "", false},
		"DISCOVER: another's that expired a lease time ago":           {world{leases: []network.Lease{held("47", mac2, -10*time.Minute)}}, discover, with(asks("47")), reply.Offered, offer, "47", "", "", false},
		"DISCOVER: a machine of the cluster only":                     {world{n: strict}, discover, nil, reply.UnknownClient, none, "", "", "", false},
		"DISCOVER: a machine of the cluster":                          {world{n: strict, vms: isMachine}, discover, nil, reply.Offered, offer, ofMAC1, "", "", false},
		"DISCOVER: not all leases are known":                          {world{partial: true}, discover, nil, reply.NotReady, none, "", "", "", false},
		"DISCOVER: cut off from the store":                            {world{cut: true, leases: mine}, discover, nil, reply.NotFresh, none, "", "", "", false},
		"DISCOVER: relayed by an unknown relay":                       {world{}, discover, with(dhcpv4.WithRelay(net.IP{192, 168, 100, 1})), reply.Relayed, none, "", "", "", false},
		"DISCOVER: what was declined":                                 {world{leases: []network.Lease{held("47", "", hour)}}, discover, with(asks("47")), reply.Offered, offer, "48", "", "", false},
		"BOOTP: no message type":                                      {world{}, none, nil, reply.Malformed, none, "", "", "", false},
	})
}

// TestSelecting: RFC 2131 section 4.3.2, a client accepts an offer.
func TestSelecting(t *testing.T) {
	check(t, map[string]row{
		"SELECTING: our offer":                        {world{}, request, with(server(us), asks(ofMAC1)), reply.Granted, ack, ofMAC1, mac1, "", false},
		"SELECTING: another server's":                 {world{}, request, with(server("192.168.100.9"), asks(ofMAC1)), reply.OtherServer, none, "", "", "", false},
		"SELECTING: another's address":                {world{leases: others}, request, with(server(us), asks("20")), reply.Refused, nak, "", "", "", false},
		"SELECTING: not what it has":                  {world{leases: mine}, request, with(server(us), asks("30")), reply.Refused, nak, "", "", "", false},
		"SELECTING: ours":                             {world{}, request, with(server(us), asks("2")), reply.Refused, nak, "", "", "", false},
		"SELECTING: without an address":               {world{}, request, with(server(us)), reply.Malformed, none, "", "", "", false},
		"SELECTING: what it has, written long ago":    {world{leases: []network.Lease{held("20", mac1, time.Minute)}}, request, with(server(us), asks("20")), reply.Granted, ack, "20", mac1, "", false},
		"SELECTING: its reservation, and not the old": {world{n: reserved, leases: mine}, request, with(server(us), asks("7")), reply.Granted, ack, "7", mac1, "20", false},
		"SELECTING: an expired one of a machine that is gone": {
			world{vms: isMachine, offered: map[string]string{full("20"): mac1},
				leases: []network.Lease{{Address: at("20"), MAC: mac2, VM: "blue-old", Expires: now.Add(-time.Second)}}},
			request, with(server(us), asks("20")), reply.Granted, ack, "20", mac1, "", false},
		"SELECTING: one of a machine that is gone, not expired": {
			world{vms: isMachine, offered: map[string]string{full("20"): mac1},
				leases: []network.Lease{{Address: at("20"), MAC: mac2, VM: "blue-old", Expires: now.Add(time.Second)}}},
			request, with(server(us), asks("20")), reply.Granted, ack, "20", mac1, "", false},
		"SELECTING: written a moment ago, and again": {world{leases: mine}, request, with(server(us), asks("20")), reply.Granted, ack, "20", mac1, "", false},
		"SELECTING: another's, cut off":              {world{cut: true, leases: others}, request, with(server(us), asks("20")), reply.NotFresh, none, "", "", "", false},
		"SELECTING: not all leases are known":        {world{partial: true}, request, with(server(us), asks("20")), reply.NotReady, none, "", "", "", false},
	})
}

// TestRebootingAndRenewing: RFC 2131 section 4.3.2, a client confirms or renews its address.
func TestRebootingAndRenewing(t *testing.T) {
	check(t, map[string]row{
		"INIT-REBOOT: right":                                    {world{leases: mine}, request, with(asks("20")), reply.Granted, ack, "20", "", "", true},
		"INIT-REBOOT: right, with a peer":                       {world{shared: true, leases: mine}, request, with(asks("20")), reply.Granted, ack, "20", mac1, "", true},
		"INIT-REBOOT: right, with a peer, cut off":              {world{shared: true, cut: true, leases: mine}, request, with(asks("20")), reply.Granted, ack, "20", mac1, "", true},
		"RENEWING: right, with a peer":                          {world{shared: true, leases: mine}, request, with(has("20")), reply.Granted, ack, "20", "", "", true},
		"INIT-REBOOT: another network":                          {world{leases: mine}, request, with(asks("10.0.0.1")), reply.Refused, nak, "", "", "", false},
		"INIT-REBOOT: wrong address of this network":            {world{leases: mine}, request, with(asks("30")), reply.Refused, nak, "", "", "", false},
		"INIT-REBOOT: unknown client":                           {world{}, request, with(asks("30")), reply.UnknownAddress, none, "", "", "", false},
		"INIT-REBOOT: unknown client, held address":             {world{leases: others}, request, with(asks("20")), reply.UnknownAddress, none, "", "", "", false},
		"INIT-REBOOT: a machine whose lease was lost":           {world{vms: isMachine}, request, with(asks("30")), reply.Granted, ack, "30", mac1, "", false},
		"INIT-REBOOT: a machine, held address":                  {world{vms: isMachine, leases: others}, request, with(asks("20")), reply.Refused, nak, "", "", "", false},
		"INIT-REBOOT: wrong, but not all leases are known":      {world{leases: mine, partial: true}, request, with(asks("30")), reply.NotReady, none, "", "", "", false},
		"RENEWING: right":                                       {world{leases: mine}, request, with(has("20")), reply.Granted, ack, "20", "", "", true},
		"RENEWING: near what was written":                       {world{leases: []network.Lease{held("20", mac1, 5*time.Minute)}}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", true},
		"RENEWING: right, cut off":                              {world{cut: true, leases: mine}, request, with(has("20")), reply.Granted, ack, "20", "", "", true},
		"RENEWING: near what was written, cut off":              {world{cut: true, leases: []network.Lease{held("20", mac1, -5*time.Minute)}}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", true},
		"RENEWING: what was written allows no more, cut off":    {world{cut: true, leases: []network.Lease{held("20", mac1, -9*time.Minute)}}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", false},
		"RENEWING: another's, cut off":                          {world{cut: true, leases: others}, request, with(has("20")), reply.NotFresh, none, "", "", "", false},
		"RENEWING: the older of two":                            {world{leases: []network.Lease{held("20", mac1, hour), held("30", mac1, 2*hour)}}, request, with(has("20")), reply.Granted, ack, "20", "", "30", true},
		"INIT-REBOOT: wrong, cut off":                           {world{cut: true, leases: mine}, request, with(asks("30")), reply.NotFresh, none, "", "", "", false},
		"RENEWING: another's":                                   {world{leases: others}, request, with(has("20")), reply.Refused, nak, "", "", "", false},
		"RENEWING: of another network":                          {world{}, request, with(has("10.0.0.1")), reply.Refused, nak, "", "", "", false},
		"RENEWING: excluded since":                              {world{n: excluded, leases: mine}, request, with(has("20")), reply.Refused, nak, "", "", "", false},
		"RENEWING: a lease that was lost":                       {world{}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", false},
		"RENEWING: excluded, and never given by us":             {world{n: excluded}, request, with(has("20")), reply.UnknownAddress, none, "", "", "", false},
		"RENEWING: outside of the range, and never given by us": {world{}, request, with(has("254")), reply.UnknownAddress, none, "", "", "", false},
		"RENEWING: the next hop":                                {world{}, request, with(has("2")), reply.Refused, nak, "", "", "", false},
		"RENEWING: not known as not all leases are known":       {world{partial: true}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", false},
	})
}

// TestDeclineReleaseInform: RFC 2131 sections 4.3.3 to 4.3.5.
func TestDeclineReleaseInform(t *testing.T) {
	check(t, map[string]row{
		"DECLINE: what it has": {world{leases: mine}, decline, with(server(us), asks("20")), reply.Declined, none, "", "-", "", false},
		"DECLINE: another's":   {world{leases: others}, decline, with(server(us), asks("20")), reply.NotHeld, none, "", "", "", false},
		"DECLINE: what its machine is reported to have": {
			world{leases: mine, vms: reporting(mac1, "20")}, decline, with(server(us), asks("20")), reply.DeclineIgnored, none, "", "", "", false},
		"DECLINE: of a machine that is reported elsewhere": {
			world{leases: mine, vms: reporting(mac1, "66")}, decline, with(server(us), asks("20")), reply.Declined, none, "", "-", "", false},
		"RENEWING: declined, and reported": {
			world{leases: []network.Lease{held("20", "", hour)}, vms: reporting(mac1, "20")}, request, with(has("20")), reply.Granted, ack, "20", mac1, "", false},
		"RENEWING: declined, and reported of another": {
			world{leases: []network.Lease{held("20", "", hour)}, vms: reporting(mac2, "20")}, request, with(has("20")), reply.Refused, nak, "", "", "", false},
		"RELEASE: what it has":       {world{leases: mine}, release, with(server(us), has("20")), reply.ReleaseIgnored, none, "", "", "", false},
		"INFORM":                     {world{}, inform, with(has("200")), reply.Informed, ack, "", "", "", false},
		"INFORM: of another network": {world{}, inform, with(has("10.0.0.1")), reply.NotHeld, none, "", "", "", false},
	})
}

// TestShorterLeaseTime: the lease time of the plan becomes shorter. The stored expiry is no earlier than what a peer with the previous
// plan, or a later write, may have promised.
func TestShorterLeaseTime(t *testing.T) {
	was := held("20", mac1, 90*time.Minute)
	for written, until := range map[time.Duration]time.Duration{
		0: 90 * time.Minute, 5 * time.Minute: 90 * time.Minute, time.Hour: 140 * time.Minute,
	} {
		was.LeaseTime = network.Duration(written)
		v := world{shared: true, leases: []network.Lease{was}}.says(message(request, mac1, asks("20")))
		if want := now.Truncate(time.Second).Add(until); !v.Next.Expires.Equal(want) {
			t.Errorf("written with %s: %s, not %s", written, v.Next.Expires, want)
		}
	}
}

func check(t *testing.T, rows map[string]row) {
	t.Helper()
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := message(c.kind, mac1, c.fields...)
			if c.kind == none {
				m.DeleteOption(dhcpv4.OptionDHCPMessageType)
			}
			v := c.in.says(m)
			g.Expect(v.Outcome).To(Equal(c.outcome))
			var yiaddr, writes, removes string
			answer := none
			if v.Answer != nil {
				answer = v.Answer.MessageType()
				if !v.Answer.YourIPAddr.IsUnspecified() && v.Answer.YourIPAddr != nil {
					yiaddr = v.Answer.YourIPAddr.String()
				}
				g.Expect(v.Answer.TransactionID).To(Equal(m.TransactionID))
				g.Expect(v.Answer.ServerIdentifier().String()).To(Equal(us))
			}
			if writes = v.Next.MAC; v.Next.Address.IsValid() && writes == "" {
				writes = "-"
			}
			if v.Remove.Address.IsValid() {
				removes = v.Remove.Address.String()
			}
			want := func(last string) string {
				if last == "" {
					return ""
				}
				return full(last)
			}
			g.Expect(answer).To(Equal(c.answer))
			g.Expect(yiaddr).To(Equal(want(c.yiaddr)), "yiaddr")
			g.Expect(writes).To(Equal(c.writes), "written")
			g.Expect(removes).To(Equal(want(c.removes)), "removed")
			g.Expect(!v.Anyway.IsZero()).To(Equal(c.anyway), "granted without a write")
			if v.Next.MAC != "" {
				ahead := now.Truncate(time.Second).Add(20 * time.Minute)
				if was := v.Was.Expires; v.Was.MAC == mac1 && was.After(ahead) {
					ahead = was
				}
				g.Expect(v.Next.Expires).To(Equal(ahead), "written a lease time ahead, and no earlier than before")
			}
		})
	}
}
