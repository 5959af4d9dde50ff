package device

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// TestFloodOfNeighbors: a VM that fills the kernel's table with addresses and MACs, which evicts all others, takes neither a
// VM's MAC from memory, nor that of a host that was there before. Memory is bounded.
func TestFloodOfNeighbors(t *testing.T) {
	g := gomega.NewWithT(t)
	now := time.Unix(1000, 0)
	vms := func(mac string) bool { return mac == "vm" || mac == "late vm" }
	host, vm, late := netip.MustParseAddr("192.168.100.9"), netip.MustParseAddr("192.168.100.20"), netip.MustParseAddr("192.168.100.21")
	table := withKept(nil, map[netip.Addr]string{host: "host", vm: "vm"}, now, vms)
	g.Expect(table[host]).To(gomega.Equal(neighborMAC{"host", now, now, true}))
	at := netip.MustParseAddr("10.0.0.0")
	flood := func(mac func(i int) string) {
		kernel := map[netip.Addr]string{}
		for i := range 1024 {
			at = at.Next()
			kernel[at] = mac(i)
		}
		now = now.Add(time.Second)
		table = withKept(table, kernel, now, vms)
	}
	for round := range 30 {
		flood(func(i int) string { return fmt.Sprint(round, " ", i) })
	}
	table = withKept(table, map[netip.Addr]string{late: "late vm"}, now, vms)
	for range 300 {
		flood(func(int) string { return "one" })
	}
	g.Expect(len(table)).To(gomega.BeNumerically("<=", kept+1024))
	g.Expect(table[host].mac).To(gomega.Equal("host"))
	g.Expect(table[vm].mac).To(gomega.Equal("vm"))
	g.Expect(table[late].mac).To(gomega.Equal("late vm"))
	g.Expect(table[vm].present).To(gomega.BeFalse())
	ofOne := 0
	for _, x := range table {
		if x.mac == "one" && !x.present {
			ofOne++
		}
	}
	g.Expect(ofOne).To(gomega.BeNumerically("<=", keptOfOne))

	table = withKept(table, map[netip.Addr]string{vm: "vm"}, now, vms)
	g.Expect(table[vm].since).To(gomega.Equal(time.Unix(1000, 0)), "it is known since then")
	table = withKept(table, nil, now.Add(keptFor), vms)
	g.Expect(table).To(gomega.BeEmpty())
}
