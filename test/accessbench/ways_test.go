// This file makes the namespaces, and starts what carries connections.

package accessbench

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// Addresses and ports of the bench.
const (
	edgePod, edgeVLAN, vmAddress = "10.128.0.2", "192.168.100.4", "192.168.100.20"
	vmPort, ourPort, envoyPort   = 9000, 3128, 4000
	sources                      = 16 // addresses of the pod, each of which has its share of the tunnels
)

// A site is a pod, an edge and a VM.
type site struct {
	pod, edge, vm *netns.Namespace
	// vmPID is the VM's server.
	vmPID int
	// groups are for what the VMs' own way takes, and for what a stream takes. They are removed after their processes.
	groups [2]group
}

func newSite(t *testing.T) site {
	t.Helper()
	s := site{pod: netns.New(t), edge: netns.New(t), vm: netns.New(t), groups: [2]group{newGroup(t, "vms", proxyRequest), newGroup(t, "access", accessRequest)}}
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	vlan.Attach(t, s.edge, "net1", "", edgeVLAN+"/24")
	vlan.Attach(t, s.vm, "eth0", "", vmAddress+"/24")
	pods.Attach(t, s.edge, "eth0", "", edgePod+"/24")
	pods.Attach(t, s.pod, "eth0", "", source(0)+"/24")
	for i := 1; i < sources; i++ {
		s.pod.Address(t, "eth0", source(i)+"/24")
	}
	s.pod.Route(t, "192.168.100.0/24", edgePod)
	s.vm.Route(t, "10.128.0.0/24", edgeVLAN)
	s.edge.Sysctl(t, "net/ipv4/conf/all/forwarding", "1")
	for _, n := range []*netns.Namespace{s.pod, s.edge, s.vm} {
		n.Sysctl(t, "net/ipv4/tcp_tw_reuse", "1")
		n.Sysctl(t, "net/ipv4/ip_local_port_range", "10000 65000")
	}
	self, env := programs.Self(t)
	vm := s.vm.Command(context.WithoutCancel(t.Context()), self, "vm", fmt.Sprintf("%s:%d", vmAddress, vmPort))
	vm.Env = env
	programs.Start(t, vm)
	s.vmPID = vm.Process.Pid
	return s
}

func source(i int) string { return fmt.Sprintf("10.128.0.%d", 100+i) }

// A way is one path to the VM, and the processes that carry it. Without processes, the kernel of the edge forwards.
type way struct {
	name string
	load load
	pids []int
}

// ways starts all that are compared.
func (s site) ways(t *testing.T) []way {
	t.Helper()
	vm := fmt.Sprintf("%s:%d", vmAddress, vmPort)
	return []way{
		{"direct", load{Address: vm}, nil},
		{"oooi", load{Address: vm, Proxy: fmt.Sprintf("%s:%d", edgePod, ourPort)}, []int{s.start(t, s.edge, program(t), "access", "--plan", planFile(t), "--interface", "net1", "--management-interface", "eth0")}},
		{"Envoy", load{Address: fmt.Sprintf("%s:%d", edgePod, envoyPort)}, []int{s.start(t, s.edge, programs.RequireEnvoy(t), "--concurrency", "2", "--log-level", "error", "-c", envoyConfig(t))}},
		s.konnectivity(t, vm),
	}
}

// start runs a program in n until the test ends.
func (s site) start(t *testing.T, n *netns.Namespace, program string, args ...string) (pid int) {
	t.Helper()
	c := n.Command(context.WithoutCancel(t.Context()), program, args...)
	programs.Start(t, c)
	return c.Process.Pid
}

// program is the oooi-edge that is measured.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OOOI_EDGE_BINARY")
	NewWithT(t).Expect(path).NotTo(BeEmpty(), "OOOI_EDGE_BINARY names the program: `make bench-access` does")
	return path
}

// planFile opens the VM's port.
func planFile(t *testing.T) string {
	t.Helper()
	address := netip.MustParseAddr
	p := network.Plan{
		Cluster: network.Cluster{Namespace: "clusters", Name: "blue", Domain: "blue.example.com"},
		Networks: []network.Network{{
			Name: "clusters.vlan100", Services: []network.Service{network.ServiceDNS}, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
			NextHopVIP: address("192.168.100.2"), ServiceVIP: address("192.168.100.3"),
			Edges: []network.Edge{{Number: 1, Address: address(edgeVLAN)}},
			Access: network.Access{Port: ourPort, Destinations: []network.AccessDestination{
				{Name: vmAddress, Port: vmPort, Addresses: []netip.Addr{address(vmAddress)}},
			}},
		}},
	}
	return programs.WriteFile(t, t.TempDir(), "plan.json", string(p.JSON()))
}

// envoyConfig has our keepalive and limits of time.
func envoyConfig(t *testing.T) string {
	t.Helper()
	return programs.WriteFile(t, t.TempDir(), "envoy.yaml", fmt.Sprintf(`static_resources:
  listeners:
  - name: vm
    address: {socket_address: {address: %s, port_value: %d}}
    filter_chains:
    - filters:
      - name: tcp
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
          stat_prefix: vm
          cluster: vm
          idle_timeout: 86400s
  clusters:
  - name: vm
    type: STATIC
    connect_timeout: 3s
    per_connection_buffer_limit_bytes: 65536
    upstream_bind_config: {source_address: {address: %s, port_value: 0}}
    load_assignment:
      cluster_name: vm
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: %s, port_value: %d}}}}]}]
`, edgePod, envoyPort, edgeVLAN, vmAddress, vmPort))
}
