// This file says what happens to edges, one row of the table each, and what VMs may notice
// of it. Measuring and judging are in halfdead_test.go.

package halfdead

import (
	"strings"
	"syscall"
	"time"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// A row is one fault.
type row struct {
	name string
	// worst: it is in every run of `make test-long`.
	worst bool
	// lasts is how long the fault lasts, brief how long it does in `make test-long`.
	lasts, brief time.Duration
	// on is the edge that each VM sends to at first.
	on []int
	// onLink: VMs dial the service VIP on their own link.
	onLink bool
	// onePath: the edges have no way to each other but the network.
	onePath bool
	// macvlan: the edges' interfaces on the network are of that kind. Its CNI plugin has the
	// kernel announce the addresses of a new interface.
	macvlan bool
	// migrates: VMs are on nodes of their own, and migrate.
	migrates bool
	// withoutAPI: the network publishes konnectivity alone.
	withoutAPI bool
	// over is how much longer the TLS gap may be than in the quiet row, cuts how often each
	// long connection may be cut.
	over time.Duration
	cuts int
	// moves: VMs must move to the other edge, so an edge must announce. silent: none may.
	moves, silent bool
	// unmeasured: connections fail by nature of the fault.
	unmeasured bool
	// prepare happens before VMs connect. It may be nil.
	prepare func(*site)
	// begin begins the fault. The fault ends with end.
	begin func(*site) (end func())
}

// heartbeats matches the messages between the edges, on either network.
const heartbeats = "udp dport 7788"

// lossy matches 30 % of them.
const lossy = heartbeats + " numgen random mod 100 < 30"

// quiet is not a fault.
func quiet() row {
	return row{lasts: 5 * time.Second, brief: 3 * time.Second, on: []int{1, 2}, begin: func(*site) func() { return func() {} }}
}

func rows() []row {
	const s = time.Second
	return []row{
		{name: "the idle edge is deaf", worst: true, lasts: 35 * s, brief: 7 * s, on: []int{1, 1}, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.vlan.DropTo(s, s.edges[2].ns, net1, "") }},
		{name: "the active edge is deaf", lasts: 35 * s, brief: 7 * s, on: []int{1, 2}, moves: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.vlan.DropTo(s, s.edges[1].ns, net1, "") }},
		{name: "the active edge is mute", lasts: 35 * s, brief: 7 * s, on: []int{1, 2}, moves: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.vlan.DropFrom(s, s.edges[1].ns, net1, "") }},
		{name: "the idle edge is deaf, no second path", lasts: 35 * s, on: []int{1, 1}, onePath: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.vlan.DropTo(s, s.edges[2].ns, net1, "") }},
		{name: "cluster network of the active edge cut", worst: true, lasts: 40 * s, brief: 7 * s, on: []int{1, 2}, moves: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.edges[1].cutOffCluster() }},
		{name: "cluster network of the active edge cut, the API server is not published", lasts: 20 * s, on: []int{1, 2}, moves: true, withoutAPI: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.edges[1].cutOffCluster() }},
		{name: "Envoy's workers hang", worst: true, lasts: 30 * s, brief: 7 * s, on: []int{1, 2}, moves: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.edges[1].freezeWorkers() }},
		{name: "Envoy stopped", lasts: 30 * s, on: []int{1, 2}, moves: true, over: 3 * s, cuts: 1,
			begin: func(s *site) func() { return s.edges[1].freeze("envoy") }},
		{name: "heartbeats lost both ways", lasts: 30 * s, on: []int{1, 2}, over: s, cuts: 1,
			begin: func(s *site) func() { return s.drop(heartbeats) }},
		// Nothing distinguishes such a peer from a hung one, so each edge announces.
		{name: "heartbeats lost both ways, no second path", lasts: 30 * s, on: []int{1, 2}, onePath: true, over: s, cuts: 3,
			begin: func(s *site) func() { return s.drop(heartbeats) }},
		{name: "heartbeats lost both ways on both networks", lasts: 30 * s, on: []int{1, 2}, over: s, cuts: 3,
			begin: func(s *site) func() { return together(s.dropOnCluster(heartbeats), s.drop(heartbeats)) }},
		{name: "30 % of heartbeats lost", lasts: 120 * s, brief: 30 * s, on: []int{1, 2}, over: s, cuts: 1,
			begin: func(s *site) func() { return s.drop(lossy) }},
		{name: "30 % of heartbeats lost, no second path", lasts: 120 * s, on: []int{1, 2}, onePath: true, over: s, cuts: 3,
			begin: func(s *site) func() { return s.drop(lossy) }},
		{name: "proxy hangs, Envoy carries", worst: true, lasts: 30 * s, brief: 7 * s, on: []int{1, 2}, over: s, silent: true,
			begin: func(s *site) func() { return s.edges[1].freeze("proxy") }},
		{name: "VLAN cut between the nodes, then whole", lasts: 30 * s, on: []int{1, 2, 2}, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.partition() }},
		{name: "two pods of one edge number", lasts: 60 * s, on: []int{1, 2}, over: 5 * s, cuts: 1,
			begin: func(s *site) func() { return s.twin() }},
		{name: "two pods of one edge number, the elder without its cluster network", lasts: 60 * s, on: []int{1, 2}, over: 5 * s, cuts: 1,
			begin: func(s *site) func() { return together(s.edges[1].cutOffCluster(), s.twin()) }},
		{name: "third stall within 90 s", lasts: 20 * s, on: []int{1, 2}, moves: true, over: 4 * s, cuts: 1,
			prepare: func(s *site) { s.stallTwice(1) },
			begin:   func(s *site) func() { return s.edges[1].freeze() }},
		{name: "all processes frozen", lasts: 20 * s, on: []int{1, 2}, moves: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.edges[1].freeze() }},
		{name: "node lost", worst: true, lasts: 20 * s, brief: 7 * s, on: []int{1, 2}, moves: true, over: 2 * s, cuts: 1,
			begin: func(s *site) func() { return s.edges[1].loseNode() }},
		{name: "node lost, VMs dial the service VIP on their link", lasts: 50 * s, on: []int{1, 2}, moves: true, onLink: true, over: 4 * s, cuts: 1,
			begin: func(s *site) func() { return s.edges[1].loseNode() }},
		{name: "macvlan: the idle edge is created again", lasts: 10 * s, on: []int{1, 1}, macvlan: true, over: s, cuts: 1,
			begin: func(s *site) func() { s.recreate(2); return func() {} }},
		{name: "a VM migrates", lasts: 10 * s, on: []int{1, 2}, migrates: true, silent: true, over: s,
			begin: func(s *site) func() { s.migrate(announced); return func() {} }},
		{name: "a VM migrates, the target shows its MAC early", lasts: 10 * s, on: []int{1, 2}, migrates: true, silent: true, over: s,
			begin: func(s *site) func() { end := s.showMAC(); return func() { s.migrate(announced); end() } }},
		{name: "a VM migrates, its announcement is lost", lasts: 10 * s, on: []int{1, 2}, migrates: true, silent: true, over: s,
			begin: func(s *site) func() { s.migrate(unannounced); return func() {} }},
		{name: "a VM migrates ten times in succession", lasts: 10 * s, on: []int{1, 2}, migrates: true, silent: true, over: s,
			begin: func(s *site) func() {
				for range 10 {
					s.migrate(announced)
				}
				return func() {}
			}},
		{name: "API server down for both", lasts: 20 * s, on: []int{1, 2}, silent: true, unmeasured: true,
			begin: func(s *site) func() { return s.stopAPI() }},
	}
}

// together is one fault of several. They end in the reverse order.
func together(ends ...func()) func() {
	return func() {
		for i := range ends {
			ends[len(ends)-1-i]()
		}
	}
}

// drop drops matching frames to both edges on the network.
func (s *site) drop(match string) (end func()) {
	return together(s.vlan.DropTo(s, s.edges[1].ns, net1, match), s.vlan.DropTo(s, s.edges[2].ns, net1, match))
}

// dropOnCluster drops matching frames to both edges on the cluster network.
func (s *site) dropOnCluster(match string) (end func()) {
	return together(s.cluster.DropTo(s, s.edges[1].ns, eth0, match), s.cluster.DropTo(s, s.edges[2].ns, eth0, match))
}

// cutOffCluster cuts the pod's way to the cluster network. Its device keeps the carrier.
func (p *pod) cutOffCluster() (end func()) {
	return together(p.cluster.DropTo(p, p.ns, eth0, ""), p.cluster.DropFrom(p, p.ns, eth0, ""))
}

// freezeWorkers stops Envoy's worker threads. Its main thread runs.
func (p *pod) freezeWorkers() (thaw func()) {
	var workers []string
	for i := range resources.Workers {
		workers = append(workers, programs.EnvoyWorker(i))
	}
	return programs.Freeze(p, p.processes["envoy"], workers...)
}

// loseNode pulls both cables of the pod and stops its processes.
func (p *pod) loseNode() (end func()) {
	p.vlan.Pull(p, p.ns, net1)
	p.cluster.Pull(p, p.ns, eth0)
	thaw := p.freeze()
	return func() {
		p.vlan.Plug(p, p.ns, net1)
		p.cluster.Plug(p, p.ns, eth0)
		thaw()
	}
}

// partition cuts the network in two nodes, each with its edge: edge 1 with the first, third,
// ... VM, and edge 2 with the others.
func (s *site) partition() (end func()) {
	nodes := [2][]*netns.Namespace{{s.edges[1].ns}, {s.edges[2].ns}}
	for i, v := range s.vms {
		nodes[i%2] = append(nodes[i%2], v.Namespace)
	}
	var ends []func()
	for i, node := range nodes {
		var others []string
		for _, n := range nodes[1-i] {
			others = append(others, n.MAC(s, net1))
		}
		for _, n := range node {
			ends = append(ends, s.vlan.DropTo(s, n, net1, "ether saddr { "+strings.Join(others, ", ")+" }"))
		}
	}
	return together(ends...)
}

// twin starts another pod of edge 1 on a third node, as Kubernetes does when it has given
// up a node that still runs. Both stay.
func (s *site) twin() (end func()) {
	s.newPod(1, 3)
	return func() {}
}

// recreate replaces the pod of an edge.
func (s *site) recreate(number int) {
	s.Helper()
	s.edges[number].signal(syscall.SIGKILL)
	s.edges[number].ns.Run(s, "ip", "link", "delete", net1)
	s.edges[number] = s.newPod(number, number)
}

// stallTwice stops all of an edge's processes for 3 s, twice.
func (s *site) stallTwice(number int) {
	s.Helper()
	for range 2 {
		thaw := s.edges[number].freeze()
		s.wait(3 * time.Second)
		thaw()
		s.whole()
	}
}

// stopAPI has the hosted API server receive nothing.
func (s *site) stopAPI() (end func()) { return s.cluster.DropTo(s, s.api, eth0, "") }
