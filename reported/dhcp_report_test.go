package reported_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestDHCPReported: what the DHCP servers of the edges report, as the condition shows it.
// Each fact stands once, whichever edges report it.
func TestDHCPReported(t *testing.T) {
	const ofVM, ofHost, third = "02:00:00:00:00:09", "02:00:00:00:00:aa", "02:00:00:00:00:01"
	n := vlan100()
	began := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	full := func(after time.Duration, used int) reported.DHCPReport {
		return reported.DHCPReport{Exhausted: reported.PoolExhaustion{Since: began.Add(after), PoolUse: reported.PoolUse{Size: 90, Assigned: used, Declined: 90 - used}}}
	}
	used := func(all ...reported.UsedAddress) reported.DHCPReport { return reported.DHCPReport{InUse: all} }
	reserved := func(mac string) reported.DHCPReport {
		return reported.DHCPReport{Reserved: []reported.ReservationInUse{{UsedAddress: inUse("192.168.100.40", mac), ReservedFor: third}}}
	}
	for name, c := range map[string]struct {
		one, two reported.DHCPReport
		says     []string
	}{
		"all is well": {},
		"exhausted": {one: full(0, 88), says: []string{
			"AddressesExhausted: DHCP on network clusters/vlan100 has had no free address since 2026-03-04T05:06:07Z. Of 90 addresses, 88 are assigned, 2 declined and 0 used by hosts without a lease."}},
		"both are exhausted": {one: full(time.Minute, 88), two: full(0, 89), says: []string{"since 2026-03-04T05:06:07Z. Of 90 addresses, 89 are"}},
		"not written":        {two: reported.DHCPReport{NotWritten: reported.LeasesUnwritten{Since: began, Error: "exceeded\nquota"}}, says: []string{"LeasesNotWritten: Edge 2 of network clusters/vlan100 has failed to write new leases since 2026-03-04T05:06:07Z: exceeded quota. This edge gives new VMs no address. VMs that have an address keep it. "}},
		"renewals not written": {two: reported.DHCPReport{NotWritten: reported.LeasesUnwritten{Since: began, RenewalsSince: began, Error: "no"}}, says: []string{
			"failed to write renewed leases since 2026-03-04T05:06:07Z: no. VMs that have an address keep it until 2026-03-04T06:06:07Z at least. Then they lose it"}},
		"a VM's":              {one: used(inUse("192.168.100.41", ofVM), inUse("192.168.100.40", ofVM)), says: []string{"AddressInUse: Another host uses 192.168.100.40, 192.168.100.41 in the DHCP range of network clusters/vlan100 without a lease. Its MAC " + ofVM + " is that of VM blue-worker-9."}},
		"another host's":      {one: used(inUse("192.168.100.40", ofHost)), two: used(inUse("192.168.100.40", ofHost)), says: []string{"AddressInUse: Another host uses 192.168.100.40 in the DHCP range of network clusters/vlan100 without a lease. Its MAC " + ofHost + " is that of no VM of the cluster."}},
		"of unknown hosts":    {one: used(reported.UsedAddress{Address: netip.MustParseAddr("192.168.100.40")}), says: []string{"A VM on network clusters/vlan100 declined 192.168.100.40 of the DHCP range. The edge found no host that answers"}},
		"one edge knows more": {one: used(reported.UsedAddress{Address: netip.MustParseAddr("192.168.100.40")}), two: used(inUse("192.168.100.40", ofHost)), says: []string{"Its MAC " + ofHost + " is"}},
		"reserved, a VM has it": {one: reserved(ofVM), two: reserved(ofVM), says: []string{
			"AddressInUse: Address 192.168.100.40 of network clusters/vlan100 is reserved for MAC " + third + ", but VM blue-worker-9 (MAC " + ofVM + ") has it. The client with MAC " + third + " gets another address"}},
		"reserved, a host has it":          {one: reserved(ofHost), says: []string{"but the host with MAC " + ofHost + " has it"}},
		"reserved, an unknown host has it": {one: reserved(""), says: []string{"but an unknown host has it"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var edges []reported.EdgeReport
			for i, d := range []reported.DHCPReport{c.one, c.two} {
				r, err := reported.Read(reported.EdgeReport{Edge: i + 1, DHCP: d}.JSON())
				g.Expect(err).NotTo(HaveOccurred())
				edges = append(edges, r)
			}
			ps := reported.DHCP(n, edges, func(mac string) string { return map[string]string{ofVM: "blue-worker-9"}[mac] },
				func(edge int) problem.Subject { return problem.Subject{Kind: "Edge", Name: fmt.Sprint(edge)} })
			g.Expect(ps).To(HaveLen(len(c.says)))
			for i, says := range c.says {
				g.Expect(ps[i].Severity).To(Equal(problem.SeverityWarning))
				g.Expect(string(ps[i].Reason) + ": " + message(ps[i])).To(ContainSubstring(says))
			}
		})
	}
}

// TestDHCPReportsAreSmall: VMs influence what is in them, and an edge is not trusted.
func TestDHCPReportsAreSmall(t *testing.T) {
	g := NewWithT(t)
	r := reported.EdgeReport{Edge: 1, DHCP: reported.DHCPReport{NotWritten: reported.LeasesUnwritten{Since: time.Now(), Error: strings.Repeat("quota ", 1000)}}}
	for i := range 1000 {
		u := reported.UsedAddress{Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), MAC: "02:00:00:00:00:01"}
		r.DHCP.InUse = append(r.DHCP.InUse, u)
		r.DHCP.Reserved = append(r.DHCP.Reserved, reported.ReservationInUse{UsedAddress: u, ReservedFor: u.MAC})
	}
	g.Expect(len(r.JSON())).To(BeNumerically("<", reported.MaxBytes*3/4))
	read, err := reported.Read(r.JSON())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.DHCP.InUse).To(HaveLen(16))
	g.Expect(read.DHCP.Reserved).To(HaveLen(16))

	for _, text := range []string{
		`{"inUse":[{"address":"10.0.0.1","mac":"a VM"}]}`, `{"inUse":[{"mac":"02:00:00:00:00:01"}]}`, `{"inUse":[{"address":"fd00::1","mac":""}]}`,
		`{"reserved":[{"address":"10.0.0.1","reservedFor":"x"}]}`, `{"exhausted":{"since":"2026-03-04T05:06:07Z","free":-1}}`, `{"exhausted":{"since":"today"}}`,
	} {
		_, err := reported.Read([]byte(`{"edge":1,"dhcp":` + text + `}`))
		g.Expect(err).To(HaveOccurred(), text)
	}
}
