package resolvconf

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
)

// TestParse: a resolver's file as a kubelet writes it. What is not an address is ignored.
func TestParse(t *testing.T) {
	got := Parse(`# made by kubelet
search clusters-blue.svc.cluster.local svc.cluster.local Cluster.Local. corp.example
nameserver 172.30.0.10
nameserver fd02::a
nameserver nonsense
nameserver
options ndots:5
`)
	want := File{
		Servers: []netip.AddrPort{netip.MustParseAddrPort("172.30.0.10:53"), netip.MustParseAddrPort("[fd02::a]:53")},
		Search:  []string{"clusters-blue.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"},
	}
	NewWithT(t).Expect(got).To(Equal(want))
}
