package resources

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/network"
)

// TestReachNeedsAControlPlane: the listener for the reach test forwards to the API server if that is published, else to another backend of
// HyperShift. Without one, there is no listener. Services of the user and VMs do not count.
func TestReachNeedsAControlPlane(t *testing.T) {
	g := NewWithT(t)
	o := Options{ReachSocket: "/run/oooi/envoy/reach.sock"}
	n := blue()
	g.Expect(New(n, o, nil).Listeners).To(HaveKey(reach))
	g.Expect(New(n, Options{}, nil).Listeners).NotTo(HaveKey(reach))
	n.Backends = []network.Backend{ingress, {Kind: network.BackendVMs, Name: "vms:443", Service: network.APIService, Port: 443}}
	r := New(n, o, nil)
	g.Expect(r.Listeners).NotTo(HaveKey(reach))
	g.Expect(r.Clusters).NotTo(HaveKey(reach))
	konnectivity := network.Backend{Name: "konnectivity-server:8091", Service: network.KonnectivityService, Port: 8091}
	at := map[string][]netip.AddrPort{konnectivity.Name: pods()[oauth.Name], api.Name: pods()[api.Name]}
	n.Backends = append(n.Backends, konnectivity)
	r = New(n, o, at)
	g.Expect(r.Listeners).To(HaveKey(reach))
	g.Expect(proto.Equal(r.Endpoints[reach].Endpoints[0], r.Endpoints[konnectivity.Name].Endpoints[0])).To(BeTrue())
	n.Backends = append(n.Backends, api)
	r = New(n, o, at)
	g.Expect(proto.Equal(r.Endpoints[reach].Endpoints[0], r.Endpoints[api.Name].Endpoints[0])).To(BeTrue())
}

// TestReachFollowsTheAPI: if the API server's pod moves, only endpoints change.
func TestReachFollowsTheAPI(t *testing.T) {
	g := NewWithT(t)
	o := Options{ReachSocket: "/run/oooi/envoy/reach.sock", UpstreamDevice: "eth0"}
	before, after := New(blue(), o, nil), New(blue(), o, pods())
	g.Expect(same(before.Listeners, after.Listeners)).To(BeTrue())
	g.Expect(same(before.Clusters, after.Clusters)).To(BeTrue())
	at := after.Endpoints[reach].Endpoints[0].LbEndpoints[0].GetEndpoint().GetAddress().GetSocketAddress()
	g.Expect(at.GetAddress()).To(Equal("10.128.0.11"))
	g.Expect(after.Clusters[reach].UpstreamBindConfig).To(Equal(after.Clusters[api.Name].UpstreamBindConfig))
}
