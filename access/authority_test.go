package access

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// leased are VMs by address.
type leased map[string]string

func (l leased) VMAt(a netip.Addr) string { return l[a.String()] }

func (l leased) VMNamed(name string) (out []netip.Addr, exists bool) {
	for a, vm := range l {
		if vm == name {
			out = append(out, netip.MustParseAddr(a))
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out, out != nil
}

func (l leased) Leased() (out []netip.Addr) {
	for a := range l {
		out = append(out, netip.MustParseAddr(a))
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

func addresses(all ...string) (out []netip.Addr) {
	for _, a := range all {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// blue is a policy with a destination of each kind, and addresses that no edge may dial.
func blue() Policy {
	address := netip.MustParseAddr
	return Policy{
		Edge: address("192.168.100.4"), Domains: []string{"", "blue.example.com"},
		Network: network.Network{
			CIDR:       netip.MustParsePrefix("192.168.100.0/24"),
			NextHopVIP: address("192.168.100.2"), ServiceVIP: address("192.168.100.3"),
			Edges:              []network.Edge{{Number: 1, Address: address("192.168.100.4")}, {Number: 2, Address: address("192.168.100.5")}},
			ReservedAddresses:  addresses("192.168.100.6"),
			PublishedAddresses: addresses("192.168.100.7", "203.0.113.10"),
			Access: network.Access{Port: 3128, Destinations: []network.AccessDestination{
				{Name: "nodes", Port: 10250}, {Name: "nodes", Port: 22, Listen: 2222},
				{Name: "apps", Port: 443, Names: []string{"*.apps.blue.example.com"}, TargetPort: 30443},
				{Name: "apps", Port: 80, Names: []string{"*.apps.blue.example.com"}, Addresses: addresses("192.168.100.90")},
				{Name: "192.168.100.60", Port: 5432, Listen: 5432, Addresses: addresses("192.168.100.60")},
				{Name: "db.example.com", Port: 5432, Addresses: addresses("192.168.100.61", "192.168.100.62")},
				{Name: "worker-2", Port: 10250, Addresses: addresses("192.168.100.63")},
				// What a plan should not have.
				{Name: "127.0.0.1", Port: 10250, Addresses: addresses("127.0.0.1")},
				{Name: "192.168.100.2", Port: 10250, Addresses: addresses("192.168.100.2")},
				{Name: "empty.example.com", Port: 10250},
			}},
		},
	}
}

// vms are two VMs, and leases with addresses that no edge may dial.
func vms() leased {
	return leased{
		"192.168.100.50": "worker-1", "192.168.100.51": "worker-2",
		"127.0.0.1": "loopback", "192.168.100.4": "edge", "192.168.100.5": "peer", "192.168.100.6": "reserved", "192.168.100.2": "next-hop", "192.168.100.3": "service",
		"192.168.100.7": "published", "203.0.113.10": "published-outside", "10.128.0.9": "pod", "169.254.169.254": "metadata", "192.168.100.255": "broadcast",
		"192.168.100.0": "network", "192.168.101.50": "outside", "255.255.255.255": "limited", "224.0.0.1": "multicast", "0.0.0.0": "unspecified",
		"::1": "loopback6", "::ffff:192.168.100.50": "mapped", "fe80::1": "link-local",
	}
}

// TestAuthority: what a caller names, and what is dialed for it. "malformed": ParseAuthority refuses it. "closed": the plan does
// not open it. "no VM": it opens the port of nodes, and none of these has a lease. "nothing": it is open, and no address may be dialed.
func TestAuthority(t *testing.T) {
	for authority, want := range map[string]string{
		// VMs.
		"worker-1:10250": "192.168.100.50:10250", "worker-1.blue.example.com:10250": "192.168.100.50:10250", "192.168.100.50:10250": "192.168.100.50:10250",
		"WORKER-1:10250": "192.168.100.50:10250", "worker-1.:10250": "192.168.100.50:10250", "Worker-1.Blue.Example.COM.:10250": "192.168.100.50:10250",
		"worker-1:22": "192.168.100.50:22", "worker-1:23": "closed", "worker-3:10250": "no VM", "worker-1.red.example.com:10250": "no VM",
		"worker-1.blue.example.com.example.com:10250": "no VM", "blue.example.com:10250": "no VM", "192.168.100.52:10250": "no VM", "nodes:10250": "no VM",
		// What the user wrote has precedence over a VM.
		"worker-2:10250": "192.168.100.63:10250", "worker-2.blue.example.com:10250": "192.168.100.51:10250", "worker-2:22": "192.168.100.51:22",
		// The ingress: all VMs at its port, or its address.
		"console.apps.blue.example.com:443": "192.168.100.50:30443 192.168.100.51:30443", "a.b.apps.blue.example.com.:443": "192.168.100.50:30443 192.168.100.51:30443",
		"console.apps.blue.example.com:80": "192.168.100.90:80", "apps.blue.example.com:443": "closed", "*.apps.blue.example.com:443": "malformed",
		"xapps.blue.example.com:443": "closed", "console.apps.blue.example.com:30443": "closed", "apps:443": "closed", "console.apps.blue.example.com.evil.com:443": "closed",
		// Addresses and records.
		"192.168.100.60:5432": "192.168.100.60:5432", "192.168.100.60:22": "no VM", "db.example.com:5432": "192.168.100.61:5432 192.168.100.62:5432", "DB.example.com.:5432": "192.168.100.61:5432 192.168.100.62:5432",
		"192.168.100.61:5432": "closed", "empty.example.com:10250": "nothing",
		// Never dialed, whatever the plan or leases say.
		"127.0.0.1:10250": "nothing", "192.168.100.2:10250": "nothing", "loopback:10250": "closed", "edge:10250": "closed", "peer:10250": "closed", "reserved:10250": "closed",
		"next-hop:10250": "closed", "service:10250": "closed", "published:10250": "closed", "published-outside:10250": "closed", "pod:10250": "closed", "metadata:10250": "closed",
		"broadcast:10250": "closed", "network:10250": "closed", "outside:10250": "closed", "limited:10250": "closed", "multicast:10250": "closed", "unspecified:10250": "closed",
		"loopback6:10250": "closed", "mapped:10250": "closed", "link-local:10250": "closed",
		"192.168.100.3:10250": "closed", "192.168.100.4:10250": "closed", "192.168.100.5:10250": "closed", "192.168.100.7:10250": "closed", "203.0.113.10:10250": "closed",
		"10.128.0.9:10250": "closed", "169.254.169.254:10250": "closed", "192.168.100.255:10250": "closed", "192.168.101.50:10250": "closed", "0.0.0.0:10250": "closed",
		// IPv6 and mapped addresses are read, and never open.
		"[::1]:10250": "closed", "[::ffff:192.168.100.50]:10250": "closed", "[::ffff:c0a8:6432]:10250": "closed", "[fe80::1]:10250": "closed", "[fe80::1%eth0]:10250": "malformed",
		"::1:10250": "malformed", "[::1]10250": "malformed", "[192.168.100.50]:10250": "malformed", "[::1:10250": "malformed", "::1]:10250": "malformed", "[worker-1]:10250": "malformed", "[]:10250": "malformed",
		// Other spellings of addresses.
		"0x7f.1:10250": "malformed", "127.1:10250": "malformed", "2130706433:10250": "malformed", "0x7f000001:10250": "malformed", "0x:10250": "malformed", "0177.0.0.1:10250": "malformed",
		"192.168.100.050:10250": "malformed", "192.168.100.0x32:10250": "malformed", "192.168.25650:10250": "malformed", "192.168.100.50.:10250": "malformed", "192.168.100.256:10250": "malformed",
		"1.2.3.4.5:10250": "malformed", "worker-1.1:10250": "malformed", "１92.168.100.50:10250": "malformed",
		// What is not a host and port.
		"": "malformed", ":": "malformed", "worker-1": "malformed", ":10250": "malformed", "worker-1:": "malformed", "worker-1:0": "malformed", "worker-1:00": "malformed",
		"worker-1:010250": "malformed", "worker-1:65536": "malformed", "worker-1:75786": "malformed", "worker-1:-1": "malformed", "worker-1:+10250": "malformed", "worker-1:1e4": "malformed",
		"worker-1:https": "malformed", "worker-1:10250:10250": "malformed", "worker-1: 10250": "malformed", " worker-1:10250": "malformed", "worker-1 :10250": "malformed", "worker-1:10250 ": "malformed",
		"a@worker-1:10250": "malformed", "a:b@worker-1:10250": "malformed", "@worker-1:10250": "malformed", "worker-1@:10250": "malformed",
		"worker-1:10250/": "malformed", "worker-1:10250/x": "malformed", "worker-1/x:10250": "malformed", "http://worker-1:10250": "malformed", "//worker-1:10250": "malformed",
		"worker-1:10250?x": "malformed", "worker-1?x:10250": "malformed", "worker-1#x:10250": "malformed", "worker-1:10250#x": "malformed",
		"worker%2d1:10250": "malformed", "%77orker-1:10250": "malformed", "worker-1%00:10250": "malformed", "worker-1\x00:10250": "malformed", "worker-1\n:10250": "malformed", "worker\t1:10250": "malformed",
		"wörker:10250": "malformed", "ＷORKER-1:10250": "malformed", "worker-1。blue.example.com:10250": "malformed", "worker-1..:10250": "malformed", ".worker-1:10250": "malformed", "worker-1..blue:10250": "malformed", ".:10250": "malformed",
		"*:10250": "malformed", "worker-*:10250": "malformed", "worker-1,worker-2:10250": "malformed", "worker\\-1:10250": "malformed",
		strings.Repeat("a", 64) + ":10250": "malformed", strings.Repeat("a.", 127) + "a:10250": "malformed", strings.Repeat("a.", 126) + "a:10250": "no VM",
	} {
		t.Run(authority, func(t *testing.T) { NewWithT(t).Expect(found(authority)).To(Equal(want)) })
	}
}

// found is what Find returns for an authority, in words.
func found(authority string) string {
	a, err := ParseAuthority(authority)
	if err != nil {
		return "malformed"
	}
	target, ok := Find(blue(), vms(), a)
	switch {
	case !ok && whyNot(blue(), vms(), a) == NoVM:
		return "no VM"
	case !ok:
		return "closed"
	case len(target.Addresses) == 0:
		return "nothing"
	}
	var out []string
	for _, a := range target.Addresses {
		out = append(out, a.String())
	}
	return strings.Join(out, " ")
}

// TestPorts: plain TCP ports forward to their destination, and none is open if callers must show a token.
func TestPorts(t *testing.T) {
	g, p := NewWithT(t), blue()
	g.Expect(Ports(p.Network.Access)).To(Equal([]uint16{2222, 5432}))
	target, ok := FindListen(p, vms(), 2222)
	g.Expect(ok).To(BeTrue())
	g.Expect(target.Addresses).To(Equal([]netip.AddrPort{netip.MustParseAddrPort("192.168.100.50:22"), netip.MustParseAddrPort("192.168.100.51:22")}), "any VM")
	target, ok = FindListen(p, vms(), 5432)
	g.Expect(ok).To(BeTrue())
	g.Expect(target.Addresses).To(Equal([]netip.AddrPort{netip.MustParseAddrPort("192.168.100.60:5432")}))
	for _, listen := range []uint16{0, 22, 3128} {
		_, ok = FindListen(p, vms(), listen)
		g.Expect(ok).To(BeFalse())
	}
	p.Network.Access.Accounts = []string{"backup/tool"}
	g.Expect(Ports(p.Network.Access)).To(BeEmpty())
	_, ok = FindListen(p, vms(), 5432)
	g.Expect(ok).To(BeFalse())
}

// TestStillOpen: a change of the plan closes what it no longer opens, and nothing else.
func TestStillOpen(t *testing.T) {
	at := netip.MustParseAddrPort
	tunnel := func(authority string) (Target, netip.AddrPort) {
		a, err := ParseAuthority(authority)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		target, _ := Find(blue(), vms(), a)
		return target, target.Addresses[0]
	}
	authorities := []string{"worker-1:10250", "worker-1:22", "console.apps.blue.example.com:443", "console.apps.blue.example.com:80", "192.168.100.60:5432", "db.example.com:5432"}
	destination := func(p *Policy, name string, port uint16) *network.AccessDestination {
		all := p.Network.Access.Destinations
		return &all[slices.IndexFunc(all, func(d network.AccessDestination) bool { return d.Name == name && d.Port == port })]
	}
	for name, c := range map[string]struct {
		change func(p *Policy)
		closes []string
	}{
		"nothing":         {func(*Policy) {}, nil},
		"another port":    {func(p *Policy) { destination(p, "nodes", 10250).Port = 10255 }, []string{"worker-1:10250"}},
		"another name":    {func(p *Policy) { destination(p, "db.example.com", 5432).Name = "other" }, []string{"db.example.com:5432"}},
		"another address": {func(p *Policy) { destination(p, "db.example.com", 5432).Addresses = addresses("192.168.100.62") }, []string{"db.example.com:5432"}},
		"one more address": {func(p *Policy) {
			destination(p, "db.example.com", 5432).Addresses = addresses("192.168.100.60", "192.168.100.61")
		}, nil},
		"another domain":       {func(p *Policy) { destination(p, "apps", 443).Names = []string{"*.apps.red.example.com"} }, []string{"console.apps.blue.example.com:443"}},
		"another ingress":      {func(p *Policy) { destination(p, "apps", 443).TargetPort = 443 }, []string{"console.apps.blue.example.com:443"}},
		"an ingress address":   {func(p *Policy) { destination(p, "apps", 443).Addresses = addresses("192.168.100.90") }, []string{"console.apps.blue.example.com:443"}},
		"no access":            {func(p *Policy) { p.Network.Access = network.Access{} }, authorities},
		"an edge of this host": {func(p *Policy) { p.Network.ServiceVIP = netip.MustParseAddr("192.168.100.50") }, []string{"worker-1:10250", "worker-1:22", "console.apps.blue.example.com:443"}},
		"accounts":             {func(p *Policy) { p.Network.Access.Accounts = []string{"backup/tool"} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := blue()
			c.change(&p)
			var closed []string
			for _, a := range authorities {
				if target, address := tunnel(a); !StillOpen(p, target, address, 0) {
					closed = append(closed, a)
				}
			}
			NewWithT(t).Expect(closed).To(Equal(c.closes))
		})
	}
	g, p := NewWithT(t), blue()
	target, _ := FindListen(p, vms(), 2222)
	g.Expect(StillOpen(p, target, at("192.168.100.50:22"), 2222)).To(BeTrue())
	g.Expect(StillOpen(p, target, at("192.168.100.50:22"), 2223)).To(BeFalse())
	p.Network.Access.Accounts = []string{"backup/tool"}
	g.Expect(StillOpen(p, target, at("192.168.100.50:22"), 2222)).To(BeFalse(), "a plain port has no token")
	g.Expect(p.Admits("")).To(BeFalse())
	g.Expect(p.Admits("backup/other")).To(BeFalse())
	g.Expect(p.Admits("backup/tool")).To(BeTrue())
}

// FuzzAuthority: an authority that is accepted has one spelling, and leads only where the policy permits.
func FuzzAuthority(f *testing.F) {
	for _, s := range []string{"worker-1:10250", "192.168.100.60:5432", "[::1]:1", "0x7f.1:22", "a@b:1", "console.apps.blue.example.com.:443", "x:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAuthority(s)
		if err != nil {
			return
		}
		again, err := ParseAuthority(a.String())
		if err != nil || again != a || a.Port == 0 || (a.Name == "") != a.Address.IsValid() {
			t.Fatalf("%q is %v, then %v, %v", s, a, again, err)
		}
		target, ok := Find(blue(), vms(), a)
		for _, to := range target.Addresses {
			if !ok || !blue().Dials(to.Addr()) || !StillOpen(blue(), target, to, 0) {
				t.Fatalf("%q leads to %v", s, to)
			}
		}
	})
}
