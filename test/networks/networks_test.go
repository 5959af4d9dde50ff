// This file is what happens to edges and nodes, and what VMs may notice of it.

package networks

import (
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
)

// TestNetworks: VMs reach an edge that serves, whatever happens to edges and nodes. Each long connection is reset once if
// its edge ends, and never because an edge is created, whatever CNI plugins announce.
func TestNetworks(t *testing.T) {
	netns.Require(t, "udhcpc", "setpriv", "mount")
	b := newBuild(t)
	// All at once: they wait most of the time, and t.Parallel runs as many as there are cores.
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range []struct {
		name   string
		fabric func(t *testing.T) fabric
		// forwards: see site.
		forwards bool
		story    func(s *site)
	}{
		{"localnet", func(t *testing.T) fabric { return newOVN(t, localnet) }, false, (*site).all},
		{"localnet with containerd", func(t *testing.T) fabric { return newOVN(t, localnet) }, true, (*site).birth},
		{"layer2", func(t *testing.T) fabric { return newOVN(t, layer2) }, false, (*site).all},
		{"layer2 with containerd", func(t *testing.T) fabric { return newOVN(t, layer2) }, true, (*site).birth},
		{"bridge", func(t *testing.T) fabric { return newLAN(t, "bridge") }, true, (*site).birth},
		{"macvlan", func(t *testing.T) fabric { return newLAN(t, "macvlan") }, true, (*site).birth},
	} {
		all.Go(func() {
			t.Run(c.name, func(t *testing.T) {
				s := newSite(t, b, c.fabric(t), c.forwards)
				s.newVMs()
				c.story(s)
			})
		})
	}
}

// all is everything that can happen.
func (s *site) all() {
	s.losesServer(1, 2)
	s.step("the server is back", 1, unnoticed, func() {
		s.edges[1].start("dns")
		s.whole()
	})
	s.losesNode("a", 1, 2)
	for _, node := range []string{"b", "c"} {
		s.g.Expect(s.fabric.answersWith(node, s.edges[1].mac())).To(BeEmpty(), "node %s sends new VMs to the lost edge", node)
		s.newVM(node)
	}
	s.born(1, "c") // The object of the lost pod is still there.
	s.drains(2, 1)
	s.born(2, "c")
	s.losesServer(1, 2) // Both edges are on one node.
}

// birth replaces an edge.
func (s *site) birth() {
	s.drains(1, 2)
	s.born(1, "c")
}

// newVMs adds a VM on each node.
func (s *site) newVMs() {
	s.Helper()
	for _, node := range nodes() {
		s.newVM(node)
	}
}

// losesServer kills the DNS server of an edge.
func (s *site) losesServer(number, other int) {
	s.Helper()
	s.sendTo(number)
	s.step("a server is dead", number, movedOnce, func() {
		s.edges[number].signal(syscall.SIGKILL, "dns")
		s.moved(other)
	})
}

// losesNode loses an edge with its node.
func (s *site) losesNode(node string, lost, other int) {
	s.Helper()
	s.sendTo(lost)
	s.gone(node)
	s.step("the node is lost", lost, movedOnce, func() {
		s.fabric.lose(node)
		s.edges[lost].signal(syscall.SIGSTOP)
		s.moved(other)
	})
}

// born creates the pod of an edge on a node, while the other edge has all VMs. That one is silent: otherwise it would
// take back at once what the new one took.
func (s *site) born(number int, node string) {
	s.Helper()
	s.fallsSilent()
	s.neverNamed(func() *pod {
		s.step("an edge is created", number, unnoticed, func() {
			s.edges[number] = s.newPod(number, node)
			s.whole()
		})
		return s.edges[number]
	})
	s.g.Expect(s.edges[number].isolates()).To(Succeed())
}

// drains ends an edge as Kubernetes does: a signal for all containers at the same time, and the end of those that still run after the grace period.
func (s *site) drains(number, other int) {
	s.Helper()
	s.sendTo(number)
	s.step("an edge is drained", number, movedOnce, func() {
		s.edges[number].signal(syscall.SIGTERM)
		s.moved(other)
		s.edges[number].end()
		s.edges[number].deleted()
		s.edges[number] = nil
	})
}
