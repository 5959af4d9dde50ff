// This file builds what every row needs: two networks, two edges, the hosted API server and
// VMs. It breaks nothing.

package halfdead

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
)

// The addresses of the network, and on the cluster network those of the API server and of
// the router.
const (
	nextHop   = "192.168.100.2"
	service   = "192.168.100.3"
	published = "10.240.0.200"
	apiServer = "10.9.0.10"
	router    = "10.9.0.1"
	apiPort   = "6443"
)

// net1 is each edge's and each VM's device on the network, eth0 an edge's on the cluster
// network.
const net1, eth0 = "net1", "eth0"

// edgeAddress is an edge's own address on the network.
func edgeAddress(number int) string { return fmt.Sprintf("192.168.100.%d", 3+number) }

// A build is one set of programs.
type build struct {
	name, program, envoy string
	// oneInterface: with macvlan, the edges' VIPs are on the interface that announces them.
	oneInterface bool
}

// A site is one network with two edges.
type site struct {
	*testing.T
	g     *WithT
	build *build
	// onePath and macvlan: see row.
	onePath, macvlan bool
	vlan, cluster    *netns.Segment
	// nodes have the VMs if VMs migrate: all are on the first at first. Otherwise there are none.
	nodes []*netns.Segment
	plan  string
	edges [3]*pod // from 1
	// leases of the VMs, as the edges' DHCP servers store them.
	leases []network.Lease
	vms    []*vm
	api    *netns.Namespace
	talks  talks
}

// newSite starts two edges and waits until they serve and see each other.
func newSite(t *testing.T, b *build, r row) *site {
	s := &site{T: t, g: NewWithT(t), build: b, onePath: r.onePath, macvlan: r.macvlan, vlan: netns.NewSegment(t), cluster: netns.NewSegment(t)}
	if r.migrates {
		s.nodes = []*netns.Segment{s.vlan.Node(t), s.vlan.Node(t)}
	}
	s.serveAPI()
	dir := shared(t)
	s.plan = filepath.Join(dir, "plan.json")
	s.g.Expect(os.WriteFile(s.plan, newPlan(r.withoutAPI).JSON(), 0o644)).To(Succeed())
	for i := range r.on {
		s.leases = append(s.leases, network.Lease{Address: netip.MustParseAddr(vmAddress(i)), MAC: vmMAC(i), Expires: time.Now().Add(time.Hour).Truncate(time.Second)})
	}
	for number := 1; number <= 2; number++ {
		s.edges[number] = s.newPod(number, number)
	}
	s.whole()
	return s
}

// whole waits until both edges serve and see each other, and nothing is announced any more.
func (s *site) whole() {
	s.Helper()
	for number := 1; number <= 2; number++ {
		s.g.Eventually(s.edges[number].seesPeer).WithContext(s.Context()).WithTimeout(time.Minute).WithPolling(100*time.Millisecond).
			Should(Succeed(), "edge %d", number)
	}
	for number := 1; number <= 2; number++ {
		s.g.Eventually(s.edges[number].asks).WithPolling(50*time.Millisecond).Should(BeEmpty(), "edge %d", number)
	}
}

// announcements counts those of both edges so far.
func (s *site) announcements() int { return s.edges[1].announcements() + s.edges[2].announcements() }

// wait lets a fault last.
func (s *site) wait(length time.Duration) {
	select {
	case <-time.After(length):
	case <-s.Context().Done():
	}
}

// newPlan publishes the API server, or konnectivity, at a bare IP, and at the service VIP.
func newPlan(withoutAPI bool) network.Plan {
	to := network.APIService
	if withoutAPI {
		to = network.KonnectivityService
	}
	backend := to + ":" + apiPort
	hop, vip, ip := netip.MustParseAddr(nextHop), netip.MustParseAddr(service), netip.MustParseAddr(published)
	n := network.Network{
		Name: "clusters.vlan100", Primary: true,
		Services:   []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy},
		CIDR:       netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: hop, ServiceVIP: vip, PublishedAddresses: []netip.Addr{ip},
		DHCP: network.DHCP{
			Range:    network.Range{First: netip.MustParseAddr("192.168.100.100"), Last: netip.MustParseAddr("192.168.100.253")},
			ServerID: vip, Router: hop, LeaseTime: network.Duration(time.Hour),
		},
		DNS:       network.DNS{Upstreams: network.Upstreams{Mode: network.UpstreamNone}},
		Listeners: []network.Listener{{Address: ip, Port: 6443, Default: backend}, {Address: vip, Port: 6443, Default: backend}},
		Backends:  []network.Backend{{Name: backend, Service: to, Port: 6443, ClusterIP: netip.MustParseAddr(apiServer)}},
	}
	for number := 1; number <= 2; number++ {
		n.Edges = append(n.Edges, network.Edge{Number: number, Address: netip.MustParseAddr(edgeAddress(number))})
	}
	return network.Plan{Cluster: network.Cluster{Namespace: "clusters", Name: "amber"}, Networks: []network.Network{n}}
}

// serveAPI serves the hosted API server on the cluster network.
func (s *site) serveAPI() {
	s.Helper()
	s.api = netns.New(s)
	s.cluster.Attach(s, s.api, eth0, "", apiServer+"/24", router+"/24")
	paths := http.NewServeMux()
	paths.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	paths.Handle(talkPath, &s.talks)
	server := httptest.NewUnstartedServer(paths)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.g.Expect(server.Listener.Close()).To(Succeed())
	var err error
	s.api.Do(s, func() { server.Listener, err = net.Listen("tcp4", net.JoinHostPort(apiServer, apiPort)) })
	s.g.Expect(err).NotTo(HaveOccurred())
	server.StartTLS()
	s.Cleanup(func() { s.talks.close(); server.CloseClientConnections(); server.Close() })
}

// vmAddress and vmMAC are those of the VM with this index.
func vmAddress(i int) string { return fmt.Sprintf("192.168.100.%d", 100+i) }
func vmMAC(i int) string     { return fmt.Sprintf("02:00:00:00:01:%02x", i) }

// A vm dials the API server through the next-hop VIP, or on its own link.
type vm struct {
	*netns.Namespace
	t      *testing.T
	edge   int // that it sends to at first
	target string
	*measure.Measurement
}

// newVM adds a VM. Its kernel sends to the MAC of edge for what it dials: the published
// address through the next-hop VIP, or the service VIP on its own link.
func (s *site) newVM(edge int, onLink bool) *vm {
	s.Helper()
	v := &vm{Namespace: netns.New(s), t: s.T, edge: edge, target: published}
	on := s.vlan
	if len(s.nodes) > 0 {
		on = s.nodes[0]
	}
	on.Attach(s, v.Namespace, net1, vmMAC(len(s.vms)), vmAddress(len(s.vms))+"/24")
	v.Route(s, "0.0.0.0/0", nextHop)
	if onLink {
		v.target = service
	}
	s.vms = append(s.vms, v)
	s.sendTo(v, edge)
	return v
}

// sendTo has a VM send to an edge, as if it had heard so some time ago.
func (s *site) sendTo(v *vm, edge int) {
	s.Helper()
	neighbor := nextHop
	if v.target == service {
		neighbor = service
	}
	v.SetNeighbour(s, net1, neighbor, s.edges[edge].ns.MAC(s, net1), false)
	v.edge = edge
}

func (v *vm) dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	v.Do(v.t, func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
	return c, err
}

// long is how many long connections each VM has.
const long = 4

// measure has each VM connect every 50 ms, and waits until all is well. A kernel ignores
// changes of a neighbor entry within a second after the last one, so it waits for longer.
func (s *site) measure() (stop func() []measure.Report) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	for _, v := range s.vms {
		v.Measurement = measure.Start(ctx, measure.Options{Dial: v.dial, API: net.JoinHostPort(v.target, apiPort), Long: long})
	}
	done := func() (all []measure.Report) {
		cancel()
		for _, v := range s.vms {
			all = append(all, v.Wait())
		}
		return all
	}
	s.Cleanup(func() { done() })
	s.settles(1500 * time.Millisecond)
	return done
}

// settles waits until no connection of any VM failed for a while.
func (s *site) settles(while time.Duration) {
	s.Helper()
	var all []*measure.Measurement
	for _, v := range s.vms {
		all = append(all, v.Measurement)
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	s.g.Expect(measure.AwaitCalm(ctx, while, all...)).To(Succeed(), "connections fail all the time")
}

// shared returns a new directory that any user may enter.
func shared(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oooi-halfdead-")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	NewWithT(t).Expect(os.Chmod(dir, 0o755)).To(Succeed())
	return dir
}
