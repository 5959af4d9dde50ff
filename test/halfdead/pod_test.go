// This file runs the processes of an edge's pod, each as its container does, and stops,
// continues and kills them.

package halfdead

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/containers"
	"github.com/cldmnky/oooi/test/netns"
)

// user is an unprivileged user.
const user = 65532

// A pod is one edge: its two networks, its run directory and its processes.
type pod struct {
	*site
	number int
	ns     *netns.Namespace
	dir    string
	// containers are what each process holds.
	containers containers.Pod
	// processes by the name of their container.
	processes map[string]int
}

// newPod starts a pod of the edge with this number. The host part of its address on the
// cluster network is 3 more than host.
func (s *site) newPod(number, host int) *pod {
	s.Helper()
	p := &pod{site: s, number: number, ns: netns.New(s), dir: shared(s), processes: map[string]int{}}
	p.containers = containers.NewPod(s, p.dir, s.build.program, user, newPlan(false).Networks[0].Services, s.secrets())
	leases, err := json.Marshal(s.leases)
	s.g.Expect(err).NotTo(HaveOccurred())
	s.g.Expect(os.WriteFile(wire.File(p.dir, string(network.ServiceDHCP), wire.LeaseCache), leases, 0o644)).To(Succeed())
	p.attach(host)
	p.run()
	return p
}

// attach gives the pod its two networks, as CNI plugins do.
func (p *pod) attach(host int) {
	p.Helper()
	p.ns.Sysctl(p, "net/ipv4/ip_unprivileged_port_start", "0")
	p.ns.Sysctl(p, "net/ipv4/conf/default/rp_filter", "1")
	vips := []string{nextHop + "/32", service + "/32", published + "/32"}
	own := edgeAddress(p.number) + "/24"
	switch all := append([]string{own}, vips...); {
	case p.macvlan && p.build.oneInterface:
		p.vlan.AttachMacvlan(p, p.ns, net1, all...)
	case p.macvlan:
		p.ns.Dummy(p, wire.VIPDevice, vips...)
		p.ns.Sysctl(p, "net/ipv4/conf/"+wire.VIPDevice+"/forwarding", "0")
		p.vlan.AttachMacvlan(p, p.ns, net1, own)
	default:
		p.vlan.Attach(p, p.ns, net1, "", all...)
	}
	p.ns.Sysctl(p, "net/ipv4/conf/net1/forwarding", "0")
	p.cluster.Attach(p, p.ns, eth0, "", fmt.Sprintf("10.9.0.%d/24", 3+host))
	p.ns.Sysctl(p, "net/ipv4/conf/eth0/forwarding", "0")
	p.ns.Route(p, "0.0.0.0/0", router)
}

// run starts all containers.
func (p *pod) run() {
	p.Helper()
	flags := []string{"--plan", p.plan, "--edge", strconv.Itoa(p.number), "--interface", net1, "--run-dir", wire.RunDir}
	run := func(name string, inPod bool) {
		args := append(p.containers.Command(name), flags...)
		if inPod {
			args = append(args, wire.WatchArguments(p.containers.Services, name)...)
		}
		p.start(name, p.build.program, args...)
	}
	for _, name := range []string{"dhcp", "dns", "proxy"} {
		run(name, p.macvlan) // Servers use the second interface in a pod only.
	}
	p.start(wire.Envoy, p.build.envoy, resources.Arguments(resources.NewDirs(wire.EnvoyDirs(wire.RunDir)), "halfdead", resources.NewLimits(2560<<20, 0))...)
	run(wire.Failover, !p.onePath) // In a pod, it finds the cluster network.
}

// secrets is the service account of all edges.
func (s *site) secrets() string {
	s.Helper()
	dir := shared(s)
	for name, text := range map[string]string{"token": "none", "namespace": "clusters-amber"} {
		s.g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)).To(Succeed())
	}
	return dir
}

// start runs a program as an unprivileged user without capabilities, with what its container
// holds. The management cluster's API server does not answer.
func (p *pod) start(name, program string, args ...string) {
	p.Helper()
	const drop = ` && exec setpriv --reuid "$0" --regid "$0" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`
	script := p.containers.Mounts(name) + drop
	c := p.ns.Command(context.WithoutCancel(p.Context()), "sh", append([]string{"-c", script, strconv.Itoa(user), program}, args...)...)
	c.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+router, "KUBERNETES_SERVICE_PORT=443")
	log, err := os.Create(p.logOf(name))
	p.g.Expect(err).NotTo(HaveOccurred())
	c.Stdout, c.Stderr = log, log
	p.g.Expect(c.Start()).To(Succeed())
	p.processes[name] = c.Process.Pid // ip, sh, setpriv and the program are one process.
	p.Cleanup(func() { p.ended(c, log) })
}

func (p *pod) ended(c *exec.Cmd, log *os.File) {
	_ = c.Process.Kill()
	_ = c.Wait()
	_ = log.Close()
	if text, err := os.ReadFile(log.Name()); err == nil && p.Failed() {
		p.Logf("%s:\n%s", log.Name(), text)
	}
}

func (p *pod) logOf(container string) string { return filepath.Join(p.dir, container+".log") }

// log is what a container printed so far.
func (p *pod) log(container string) string {
	p.Helper()
	text, err := os.ReadFile(p.logOf(container))
	p.g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// seesPeer returns nil if the edge serves and its peer too.
func (p *pod) seesPeer(ctx context.Context) error {
	if err := health.Probe(ctx, wire.Socket(p.dir, wire.Failover)); err != nil {
		return err
	}
	return health.At(wire.Socket(p.dir, wire.Failover)).PeerServes(ctx)
}

// announcements counts the failover announcements so far. The agent logs each of the first
// eight, and later ones less and less.
func (p *pod) announcements() int {
	return strings.Count(p.log(wire.Failover), "failover announcement sent")
}

// asks lists the unused addresses that the pod's kernel asks for: it does for two seconds
// after an announcement.
func (p *pod) asks() string {
	return p.ns.Run(p, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16")
}

// signal sends a signal to containers, to all if none is named.
func (p *pod) signal(x syscall.Signal, containers ...string) {
	p.Helper()
	if len(containers) == 0 {
		containers = slices.Collect(maps.Keys(p.processes))
	}
	for _, name := range containers {
		p.g.Expect(syscall.Kill(p.processes[name], x)).To(Succeed(), name)
	}
}

// freeze stops containers, all if none is named, until thaw.
func (p *pod) freeze(containers ...string) (thaw func()) {
	p.Helper()
	p.signal(syscall.SIGSTOP, containers...)
	return func() { p.Helper(); p.signal(syscall.SIGCONT, containers...) }
}
