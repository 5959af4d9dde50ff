package wire

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestAccessContainer: the access proxy has no token, reads what the watcher stores, and is read by the failover agent. Without
// access, the containers of a pod are as they are without the program.
func TestAccessContainer(t *testing.T) {
	g := NewWithT(t)
	n := network.Network{Services: network.AllServices()}
	g.Expect(Servers(n)).To(Equal(n.Services))
	without := map[string][]RunMount{}
	for _, program := range []string{"dhcp", "dns", "ntp", "proxy", Envoy, Failover} {
		without[program] = RunMounts(n, program)
	}
	n.Access = network.Access{Port: 3128, Destinations: []network.AccessDestination{{Name: "nodes", Port: 22}}}
	g.Expect(Servers(n)).To(ContainElement(network.Service(Access)))
	for program, mounts := range without {
		if program == Failover {
			mounts = append(mounts, RunMount{Name: Access, ReadOnly: true})
		}
		g.Expect(RunMounts(n, program)).To(ConsistOf(mounts), program)
	}
	g.Expect(n.Services).NotTo(ContainElement(network.Service(Access)))
	for _, watcher := range network.AllServices() {
		n := network.Network{Services: []network.Service{watcher}, Access: n.Access}
		g.Expect(HoldsToken(n.Services, Access)).To(BeFalse())
		g.Expect(WatchArguments(n.Services, Access)).To(Equal([]string{"--watched-by", string(watcher)}))
		g.Expect(RunMounts(n, Access)).To(Equal([]RunMount{{Name: Access}, {Name: string(watcher), ReadOnly: true}}))
	}
}
