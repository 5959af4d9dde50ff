package proxy

import (
	"errors"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestConnected: a connection that the edge opened, or one on the pod network, is not one of a VM.
func TestConnected(t *testing.T) {
	n := network.Network{Listeners: []network.Listener{{Address: netip.MustParseAddr("192.168.100.3"), Port: 443}}}
	vm := netip.MustParseAddrPort("192.168.100.20:40000")
	for name, c := range map[string]struct {
		local []string
		err   error
		want  string
	}{
		"none":               {want: "no"},
		"of a VM":            {local: []string{"10.128.0.2:50000", "192.168.100.3:443"}, want: "yes"},
		"of the edge itself": {local: []string{"192.168.100.4:50000", "10.128.0.2:9090"}, want: "no"},
		"the kernel refuses": {local: []string{"192.168.100.3:443"}, err: errors.New("no"), want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			each := func(f func(local, remote netip.AddrPort)) error {
				for _, l := range c.local {
					f(netip.MustParseAddrPort(l), vm)
				}
				return c.err
			}
			NewWithT(t).Expect(connectedOf(n, each)).To(Equal(c.want))
		})
	}
}
