package attachments_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/network"
)

// TestRoutesOfVM: a pod that acts as a VM has the routes of VMs. Where they have a gateway, it is the only one that could lead
// into the management cluster.
func TestRoutesOfVM(t *testing.T) {
	const hop, gateway = "192.168.100.2", "192.168.100.1"
	at, to := netip.MustParseAddr, netip.MustParsePrefix
	plain := network.Network{
		CIDR: to("192.168.100.0/24"), NextHopVIP: at(hop),
		Attachment: network.Attachment{EdgeNADConfig: `{"type":"bridge","ipam":{"type":"static"}}`},
		DHCP: network.DHCP{Router: at(hop), Routes: []network.Route{
			{Destination: to("192.168.100.3/32"), Via: at(hop)}, {Destination: to("10.9.9.9/32"), Via: at(hop)}, {Destination: to("0.0.0.0/0"), Via: at(hop)},
		}},
	}
	behind, secondary := plain, plain
	behind.DHCP.Router, behind.DHCP.Routes = at(gateway), append(append([]network.Route{}, plain.DHCP.Routes[:2]...), network.Route{Destination: to("0.0.0.0/0"), Via: at(gateway)})
	secondary.DHCP = network.DHCP{}
	for name, c := range map[string]struct {
		n    network.Network
		want map[string]string
	}{
		"without a gateway":   {plain, map[string]string{"0.0.0.0/1": hop, "128.0.0.0/1": hop}},
		"a gateway":           {behind, map[string]string{"0.0.0.0/1": gateway, "128.0.0.0/1": gateway, "10.9.9.9/32": hop}},
		"a secondary network": {secondary, map[string]string{"0.0.0.0/1": hop, "128.0.0.0/1": hop}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, own, ok := attachments.OfVM(c.n, at("192.168.100.20"), "clusters-blue")
			g.Expect(ok).To(BeTrue())
			var conf struct {
				IPAM struct {
					Routes []struct{ Dst, GW string }
				}
			}
			g.Expect(json.Unmarshal([]byte(own.Config), &conf)).To(Succeed())
			got := map[string]string{}
			for _, r := range conf.IPAM.Routes {
				got[r.Dst] = r.GW
				g.Expect(c.n.NextHop(to(r.Dst).Addr())).To(Equal(at(r.GW)), "as VMs do")
			}
			g.Expect(got).To(Equal(c.want))
		})
	}
}
