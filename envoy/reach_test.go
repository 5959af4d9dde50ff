package envoy

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/network"
)

// TestReachLeadsToTheAPIServer: connections
// opened together get one worker each. The API server closes a half-closed one.
func TestReachLeadsToTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	info, err := os.Stat(ReachSocket(w.dir))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(anyone)))
	for round := range 5 {
		var open []*net.UnixConn
		for range Workers {
			c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: ReachSocket(w.dir), Net: "unix"})
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = c.Close() }()
			open = append(open, c)
		}
		for i := range Workers {
			total := func() string { return w.counter(t, fmt.Sprintf("listener.reach.worker_%d.downstream_cx_total", i)) }
			g.Eventually(total, patient, "5ms").Should(Equal(fmt.Sprint(round+1)), "worker %d", i)
		}
		for _, c := range open {
			_, err := io.WriteString(c, "\x16\x03\x01\x00\x05hello")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.CloseWrite()).To(Succeed())
			_ = c.SetReadDeadline(time.Now().Add(patient))
			b, err := io.ReadAll(c)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b).NotTo(BeEmpty(), "an alert")
		}
		for i := range Workers { // Envoy counts a connection for a moment after the client saw its end
			open := func() string { return w.counter(t, fmt.Sprintf("listener.reach.worker_%d.downstream_cx_active", i)) }
			g.Eventually(open, patient, "5ms").Should(Equal("0"), "worker %d", i)
		}
	}
}

// TestReachNeedsAControlPlane: the API server is asked where it is published, else another backend of HyperShift.
// Without any there is no listener. A Service of the user and VMs do not count.
func TestReachNeedsAControlPlane(t *testing.T) {
	g := NewWithT(t)
	o := Options{RunDir: "/run/oooi"}
	n := blue()
	g.Expect(NewResources(n, o, nil).Listeners).To(HaveKey(reach))
	g.Expect(NewResources(n, Options{}, nil).Listeners).NotTo(HaveKey(reach))
	n.Backends = []network.Backend{ingress, {Kind: network.BackendVMs, Name: "machines:443", Service: network.APIService, Port: 443}}
	r := NewResources(n, o, nil)
	g.Expect(r.Listeners).NotTo(HaveKey(reach))
	g.Expect(r.Clusters).NotTo(HaveKey(reach))
	konnectivity := network.Backend{Name: "konnectivity-server:8091", Service: network.KonnectivityService, Port: 8091}
	at := map[string][]netip.AddrPort{konnectivity.Name: pods()[oauth.Name], api.Name: pods()[api.Name]}
	n.Backends = append(n.Backends, konnectivity)
	r = NewResources(n, o, at)
	g.Expect(r.Listeners).To(HaveKey(reach))
	g.Expect(proto.Equal(r.Endpoints[reach].Endpoints[0], r.Endpoints[konnectivity.Name].Endpoints[0])).To(BeTrue())
	n.Backends = append(n.Backends, api)
	r = NewResources(n, o, at)
	g.Expect(proto.Equal(r.Endpoints[reach].Endpoints[0], r.Endpoints[api.Name].Endpoints[0])).To(BeTrue())
}

// TestReachFollowsTheAPI: a moved pod changes endpoints only.
func TestReachFollowsTheAPI(t *testing.T) {
	g := NewWithT(t)
	o := Options{RunDir: "/run/oooi", UpstreamDevice: "eth0"}
	before, after := NewResources(blue(), o, nil), NewResources(blue(), o, pods())
	g.Expect(same(before.Listeners, after.Listeners)).To(BeTrue())
	g.Expect(same(before.Clusters, after.Clusters)).To(BeTrue())
	at := after.Endpoints[reach].Endpoints[0].LbEndpoints[0].GetEndpoint().GetAddress().GetSocketAddress()
	g.Expect(at.GetAddress()).To(Equal("10.128.0.11"))
	g.Expect(after.Clusters[reach].UpstreamBindConfig).To(Equal(after.Clusters[api.Name].UpstreamBindConfig))
}
