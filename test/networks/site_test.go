// This file is two edges and some VMs on one network, and what VMs notice of a step.

package networks

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// The addresses of the network, and of the cluster network.
const (
	nextHop = "192.168.100.2"
	service = "192.168.100.3"
	apiPort = "6443"
	router  = "10.9.0.1"
	// controlPlane is the namespace of edges.
	controlPlane = "clusters-blue"
)

// A build is the programs of edges, and the directory of CNI plugins.
type build struct {
	program, plugins string
	// dummies: the kernel has devices of type dummy. Without, the plugin of that name cannot run; see standIn.
	dummies bool
}

// A site is one network with two edges.
type site struct {
	*testing.T
	g       *WithT
	build   build
	fabric  fabric
	cluster *netns.Segment
	// control shows when the machine is busy.
	control *measure.Measurement
	// forwards: pods forward packets unless a CNI plugin says otherwise, as with containerd.
	forwards bool
	planFile string
	pods     int
	edges    [3]*pod // from 1
	vms      []*vm
	made     int // VMs so far
}

// newSite starts edge 1 on node a, and edge 2 on node b.
func newSite(t *testing.T, b build, f fabric, forwards bool) *site {
	t.Helper()
	s := &site{T: t, g: NewWithT(t), build: b, fabric: f, cluster: netns.NewSegment(t), control: newControl(t), forwards: forwards}
	s.planFile = programs.WriteFile(t, shared(t), "plan.json", string(s.plan().JSON()))
	s.edges[1], s.edges[2] = s.newPod(1, "a"), s.newPod(2, "b")
	s.whole()
	return s
}

// plan is what the operator makes from the VMs' NetworkAttachmentDefinition.
func (s *site) plan() network.Plan {
	s.Helper()
	attachment, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: s.fabric.config()}, nad.Nodes{ForwardByDefault: s.forwards})
	s.g.Expect(fault).To(BeNil())
	hop, vip := netip.MustParseAddr(nextHop), netip.MustParseAddr(service)
	n := network.Network{
		Name: attachment.NetworkName(), Attachment: attachment, Primary: true,
		Services:   []network.Service{network.ServiceDHCP, network.ServiceDNS},
		CIDR:       netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: hop, ServiceVIP: vip,
		Edges: []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}, {Number: 2, Address: netip.MustParseAddr("192.168.100.5")}},
		DHCP: network.DHCP{
			Range:    network.Range{First: netip.MustParseAddr("192.168.100.100"), Last: netip.MustParseAddr("192.168.100.253")},
			ServerID: vip, Router: hop, LeaseTime: network.Duration(time.Hour),
		},
		DNS: network.DNS{Upstreams: network.Upstreams{Mode: network.UpstreamNone}},
	}
	for i := range 10 {
		n.DHCP.Reservations = append(n.DHCP.Reservations, network.Reservation{MAC: vmMAC(i), Address: netip.MustParseAddr(vmAddress(i))})
	}
	return network.Plan{Cluster: network.Cluster{Namespace: "clusters", Name: "blue", ControlPlaneNamespace: controlPlane}, Networks: []network.Network{n}}
}

// whole waits until both edges serve and see each other, and nothing is announced any more.
func (s *site) whole() {
	s.Helper()
	for _, p := range s.edges[1:] {
		s.g.Eventually(p.seesPeer).WithContext(s.Context()).WithTimeout(time.Minute).WithPolling(50*time.Millisecond).Should(Succeed(), "edge %d", p.number)
	}
	for _, p := range s.edges[1:] {
		s.g.Eventually(func() string { return p.ns.Run(s, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16") }, patience.Limit, "50ms").
			Should(BeEmpty(), "announcements of edge %d", p.number)
	}
}

func vmAddress(i int) string { return fmt.Sprintf("192.168.100.%d", 100+i) }
func vmMAC(i int) string     { return fmt.Sprintf("02:00:00:00:01:%02x", i) }

// A vm dials the API server through the next-hop VIP.
type vm struct {
	*netns.Namespace
	t    *testing.T
	name string
	node string
	*measure.Measurement
	stop context.CancelFunc
}

// vmDevice is a VM's device on the network.
const vmDevice = "eth0"

// long is how many long connections each VM has.
const long = 2

// newVM adds a VM that gets its address by DHCP, and then connects every 100 ms.
func (s *site) newVM(node string) *vm {
	s.Helper()
	i := s.made
	s.made++
	v := &vm{Namespace: netns.New(s), t: s.T, name: fmt.Sprintf("VM %d on node %s", i, node), node: node}
	s.fabric.join(v.Namespace, node, vmDevice, vmMAC(i), nil)
	// It takes each announcement at once, so that a wrong one shows. Otherwise it takes none for a second after a change.
	v.Sysctl(s, "net/ipv4/neigh/"+vmDevice+"/locktime", "0")
	script := programs.WriteFile(s, shared(s), "script", "#!/bin/sh\n[ \"$1\" != bound ] || ip address add $ip/24 dev $interface && ip route add "+service+"/32 via $router\n")
	s.g.Expect(v.Command(s.Context(), "chmod", "755", script).Run()).To(Succeed())
	began, since := time.Now(), now(s.control)
	out, err := v.Command(s.Context(), "udhcpc", "-f", "-n", "-q", "-t", "60", "-T", "1", "-i", vmDevice, "-s", script).CombinedOutput()
	s.g.Expect(err).NotTo(HaveOccurred(), "%s gets no lease: %s", v.name, out)
	s.g.Expect(v.Addresses(s, vmDevice)).To(ContainElement(netip.MustParsePrefix(vmAddress(i) + "/24")))
	leased := time.Since(began)
	ctx, cancel := context.WithCancel(s.Context())
	v.Measurement = measure.Start(ctx, asks(measure.Options{Dial: v.dial, API: net.JoinHostPort(service, apiPort), Long: long}))
	v.stop = func() { cancel(); v.Wait() }
	s.Cleanup(v.stop)
	s.g.Eventually(v.served, patience.Limit, "20ms").Should(BeTrue(), "%s connects to no edge", v.name)
	connects := time.Since(began)
	s.Logf("%s: lease after %d ms, connects after %d ms, through edge %d", v.name, leased.Milliseconds(), connects.Milliseconds(), s.edgeOf(v))
	s.promptly(v.name+" connects for the first time", connects, movedOnce.gap, since)
	s.vms = append(s.vms, v)
	return v
}

// served reports whether all its long connections are open.
func (v *vm) served() bool {
	for _, l := range v.Report().Long {
		if l.Answers == 0 {
			return false
		}
	}
	return true
}

func (v *vm) dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	v.Do(v.t, func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
	return c, err
}

// edgeOf returns the number of the edge that a VM sends to, 0 if it is not an edge that runs.
func (s *site) edgeOf(v *vm) int {
	mac := v.Neighbour(s, vmDevice, nextHop)
	for _, p := range s.edges[1:] {
		if p != nil && p.mac() == mac {
			return p.number
		}
	}
	return 0
}

// sendTo has all VMs send to an edge, as if they had heard so some time ago.
func (s *site) sendTo(number int) {
	s.Helper()
	for _, v := range s.vms {
		v.SetNeighbour(s, vmDevice, nextHop, s.edges[number].mac(), false)
	}
	s.settles()
}

// moved waits until all VMs send to an edge.
func (s *site) moved(number int) {
	s.Helper()
	for _, v := range s.vms {
		s.g.Eventually(func() int { return s.edgeOf(v) }, patience.Limit, "20ms").Should(Equal(number), "%s", v.name)
	}
}

// settles waits until all connections of all VMs have answers to what they asked since.
func (s *site) settles() {
	s.Helper()
	var all []*measure.Measurement
	for _, v := range s.vms {
		all = append(all, v.Measurement)
	}
	ctx, cancel := context.WithTimeout(s.Context(), 3*patience.Limit)
	defer cancel()
	s.g.Expect(measure.AwaitAnswers(ctx, all...)).To(Succeed(), "connections get no answer")
}

// An effect is the most that VMs notice of a step: how often each long connection is cut, and for how long nothing
// connects.
type effect struct {
	cuts int
	gap  time.Duration
}

var (
	unnoticed = effect{0, time.Second}
	movedOnce = effect{1, 4 * time.Second}
)

// step does something, and waits until VMs notice nothing of it any more. All send to the other edge than that of number, at the end at least.
func (s *site) step(name string, number int, most effect, do func()) {
	s.Helper()
	type mark struct {
		at   measure.Milliseconds
		cuts [long]int
	}
	before, since := make([]mark, len(s.vms)), now(s.control)
	for i, v := range s.vms {
		before[i].at = now(v.Measurement)
		for j, l := range v.Report().Long {
			before[i].cuts[j] = len(l.Cuts)
		}
	}
	idle, announced := s.edges[number], 0
	if idle != nil {
		announced = idle.announcements()
	}
	heard, began := s.listen(), time.Now()
	do()
	did := time.Since(began)
	s.settles()
	if p := s.edges[number]; p != nil && p != idle {
		idle, announced = p, 0
	}
	all := asked(heard())
	s.Logf("%s: %.1f s, settled after %.1f s", name, did.Seconds(), time.Since(began).Seconds())
	for i, v := range s.vms[:len(before)] {
		took, cuts := gap(v.Measurement, before[i].at), 0
		for j, l := range v.Report().Long {
			cuts = max(cuts, len(l.Cuts)-before[i].cuts[j])
		}
		s.Logf("%s: %s: longest gap %d ms, %d cuts, now through edge %d", name, v.name, took.Milliseconds(), cuts, s.edgeOf(v))
		if cuts > most.cuts {
			s.faulty(since, idle.announcements() > announced, all, "%s: a long connection of %s was cut %d times, more than %d", name, v.name, cuts, most.cuts)
		}
		s.promptly(name+": "+v.name+" did not connect", took, most.gap, since)
	}
}

// gone stops the VMs of a lost node.
func (s *site) gone(node string) {
	var left []*vm
	for _, v := range s.vms {
		if v.node == node {
			v.stop()
		} else {
			left = append(left, v)
		}
	}
	s.vms = left
}
