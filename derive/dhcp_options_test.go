package derive_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestMTUExceedsNAD: a problem tells the user that VMs would send packets that their own interface drops. The MTU of the annotation is
// still advertised.
func TestMTUExceedsNAD(t *testing.T) {
	for name, c := range map[string]struct {
		annotation, nad int
		warned          bool
	}{
		"larger":              {9000, 1400, true},
		"equal":               {1400, 1400, false},
		"smaller":             {1300, 1400, false},
		"only the annotation": {9000, 0, false},
		"only the NAD":        {0, 1400, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := onVLAN("a", "10.1.0.0/24", "cidr")
			s.Settings.MTU, s.Attachment.MTU = c.annotation, c.nad
			p, problems := derived(asking(1, s))
			g.Expect(p.Networks[0].DHCP.MTU).To(Equal(map[bool]int{true: c.annotation, false: c.nad}[c.annotation > 0]))
			if !c.warned {
				g.Expect(problems).To(BeEmpty())
				return
			}
			g.Expect(problems).To(ConsistOf(And(HaveField("Cause", problem.MTUExceedsNAD), HaveField("Severity", problem.SeverityWarning))))
			g.Expect(message(problems[0])).To(And(ContainSubstring("9000"), ContainSubstring("Set annotation mtu to 1400 or less")))
		})
	}
}

// TestPoolOfVMs: VMs get no address that the user has assigned to another host, on any network. If no address is left for them, that is an
// Error.
func TestPoolOfVMs(t *testing.T) {
	at := netip.MustParseAddr
	pool := network.Range{First: at("10.1.0.10"), Last: at("10.1.0.11")}
	record := func(addresses ...netip.Addr) []network.Record {
		return []network.Record{{Name: "a.example.com", Addresses: addresses}}
	}
	mine := []network.Reservation{{MAC: "02:00:00:00:00:01", Address: at("10.1.0.10")}, {MAC: "02:00:00:00:00:02", Address: at("10.1.0.11")}}
	for name, c := range map[string]struct {
		settings network.Settings
		apps     network.Record
		provider netip.Addr
		vms      []network.VMAddress
		want     problem.Cause // none: each of 2 VMs gets an address
	}{
		"all":                    {},
		"a name has one":         {settings: network.Settings{Records: record(at("10.1.0.10"))}, want: problem.VMsExceedDHCPRange},
		"names have all":         {settings: network.Settings{Records: record(at("10.1.0.10"), at("10.1.0.11"))}, want: problem.DHCPRangeEmpty},
		"the ingress has one":    {apps: network.Record{Name: "*.apps", Addresses: []netip.Addr{at("10.1.0.11")}}, want: problem.VMsExceedDHCPRange},
		"an identity provider":   {provider: at("10.1.0.11"), want: problem.VMsExceedDHCPRange},
		"a time server":          {settings: network.Settings{NTPServers: []netip.Addr{at("10.1.0.11")}}, want: problem.VMsExceedDHCPRange},
		"a DNS server has one":   {settings: upstreams("10.1.0.11:53"), want: problem.VMsExceedDHCPRange},
		"DNS servers have all":   {settings: upstreams("10.1.0.11:53", "10.1.0.10:53"), want: problem.DHCPRangeEmpty},
		"reserved for VMs to be": {settings: network.Settings{Reservations: mine}},
		"reserved for these VMs": {settings: network.Settings{Reservations: mine}, vms: vmsWith("02:00:00:00:00:01", "02:00:00:00:00:02")},
		"reserved for one of them": {settings: network.Settings{Reservations: mine}, vms: vmsWith("02:00:00:00:00:01", "02:00:00:00:00:09"),
			want: problem.VMsExceedDHCPRange},
		"reserved for others": {settings: network.Settings{Reservations: mine}, vms: vmsWith("02:00:00:00:00:09"), want: problem.DHCPRangeEmpty},
	} {
		for _, primary := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", primary: ", primary), func(t *testing.T) {
				g := NewWithT(t)
				s, boots := onVLAN("a", "10.1.0.0/24", "cidr"), onVLAN("z", "10.2.0.0/24", "cidr")
				s.Primary, s.VMs, boots.NodePools = primary, 2, s.NodePools
				s.Settings.DHCPRange, s.Settings.Reservations = pool, c.settings.Reservations
				of := &s
				if !primary {
					of = &boots // as hcp does: names and servers are settings of the network that VMs boot from
				}
				of.Settings.Records, of.Settings.Upstreams, of.Settings.NTPServers = c.settings.Records, c.settings.Upstreams, c.settings.NTPServers
				in := asking(1, s)
				if !primary {
					in = asking(1, boots, s)
				}
				in.Apps, in.VMAddresses = c.apps, c.vms
				if c.provider.IsValid() {
					in.ProviderHosts = []netip.AddrPort{netip.AddrPortFrom(c.provider, 636)}
				}
				_, problems := derived(in)
				about := slices.DeleteFunc(problems, func(p problem.Problem) bool { return p.Reason != problem.RangeTooSmall })
				if c.want == "" {
					g.Expect(about).To(BeEmpty())
					return
				}
				g.Expect(about).To(ConsistOf(HaveField("Cause", c.want)))
				g.Expect(about[0].Severity == problem.SeverityError).To(Equal(primary && c.want == problem.DHCPRangeEmpty))
			})
		}
	}
}

func upstreams(servers ...string) network.Settings {
	u := network.Upstreams{Mode: network.UpstreamServers}
	for _, s := range servers {
		u.Servers = append(u.Servers, netip.MustParseAddrPort(s))
	}
	return network.Settings{Upstreams: &u}
}

// vmsWith are VMs on network a with these MACs.
func vmsWith(macs ...string) []network.VMAddress {
	var out []network.VMAddress
	for i, mac := range macs {
		at := netip.AddrFrom4([4]byte{10, 1, 0, byte(100 + i)})
		out = append(out, network.VMAddress{VM: fmt.Sprint("vm-", i), Network: "a.a", Address: at, MAC: mac})
	}
	return out
}
