// This file runs the pods of edges: their interfaces, and the processes of their containers.

package networks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/containers"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// user is an unprivileged user.
const user = 65532

// A pod is one edge's: its interfaces, its run directory and its processes.
type pod struct {
	*site
	number int
	node   string
	ns     *netns.Namespace
	dir    string
	// forget has the network forget the pod, as when its object is deleted.
	forget     []func()
	containers containers.Pod
	processes  map[string]*exec.Cmd
	logs       map[string]*programs.Output
	api        *httptest.Server
}

// newPod starts the pod of an edge on a node.
func (s *site) newPod(number int, node string) *pod {
	s.Helper()
	s.pods++
	p := &pod{site: s, number: number, node: node, ns: netns.New(s), dir: shared(s), processes: map[string]*exec.Cmd{}, logs: map[string]*programs.Output{}}
	services := p.plan().Networks[0].Services
	p.containers = containers.NewPod(s, p.dir, s.build.program, user, services, s.secrets())
	p.ns.Sysctl(p, "net/ipv4/ip_unprivileged_port_start", "0")
	// The container runtime: CRI-O disables forwarding, and others leave it as on the node.
	forwarding := "0"
	if s.forwards {
		forwarding = "1"
	}
	p.ns.Sysctl(p, "net/ipv4/conf/all/forwarding", forwarding)
	p.ns.Sysctl(p, "net/ipv4/conf/default/forwarding", forwarding)
	s.cluster.Attach(p, p.ns, "eth0", "", fmt.Sprintf("10.9.0.%d/24", 10+s.pods))
	p.ns.Route(p, "0.0.0.0/0", router)
	p.attach()
	p.serveAPI()
	for _, name := range []string{"dhcp", "dns", wire.Failover} {
		p.start(name)
	}
	return p
}

// secrets is the service account of edges. The management cluster's API server does not answer.
func (s *site) secrets() string {
	s.Helper()
	dir := shared(s)
	for name, text := range map[string]string{"token": "none", "namespace": controlPlane} {
		programs.WriteFile(s, dir, name, text)
	}
	return dir
}

// start runs a container as an unprivileged user without capabilities.
func (p *pod) start(name string) {
	p.Helper()
	args := append(p.containers.Command(name), "--plan", p.planFile, "--edge", strconv.Itoa(p.number), "--interface", wire.Device, "--run-dir", wire.RunDir)
	if name == wire.Failover { // In a pod, it finds the cluster network. The servers would want the API server.
		args = append(args, wire.WatchArguments(p.containers.Services, name)...)
	}
	const drop = ` && exec setpriv --reuid "$0" --regid "$0" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`
	c := p.ns.Command(context.WithoutCancel(p.Context()), "sh", append([]string{"-c", p.containers.Mounts(name) + drop, strconv.Itoa(user), p.build.program}, args...)...)
	c.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+router, "KUBERNETES_SERVICE_PORT=443")
	out := &programs.Output{}
	c.Stdout, c.Stderr = out, out
	p.g.Expect(c.Start()).To(Succeed())
	p.processes[name], p.logs[name] = c, out
	p.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if p.Failed() {
			p.Logf("%s of edge %d on node %s:\n%s", name, p.number, p.node, out)
		}
	})
}

// serveAPI serves the published address on the network, in Envoy's place.
func (p *pod) serveAPI() {
	p.Helper()
	bound := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var bind error
		err := c.Control(func(fd uintptr) { bind = unix.BindToDevice(int(fd), wire.Device) })
		return errors.Join(err, bind)
	}}
	var listener net.Listener
	var err error
	p.ns.Do(p, func() { listener, err = bound.Listen(p.Context(), "tcp4", net.JoinHostPort(service, apiPort)) })
	p.g.Expect(err).NotTo(HaveOccurred())
	p.api = newAPI(p.T, listener)
	p.Cleanup(func() { p.api.CloseClientConnections(); p.api.Close() })
}

// seesPeer returns nil if the edge serves and its peer too.
func (p *pod) seesPeer(ctx context.Context) error {
	if err := health.Probe(ctx, wire.Socket(p.dir, wire.Failover)); err != nil {
		return err
	}
	return health.At(wire.Socket(p.dir, wire.Failover)).PeerServes(ctx)
}

// isolates returns an error if the kernel would forward packets of the network.
func (p *pod) isolates() (err error) {
	p.Helper()
	p.ns.Do(p, func() {
		var now device.Snapshot
		if now, err = device.Read(wire.Device); err == nil {
			err = now.Isolates()
		}
	})
	return err
}

// mac is what VMs send to the edge at.
func (p *pod) mac() string { return p.ns.MAC(p, wire.Device) }

// signal sends a signal to containers, to all if none is named.
func (p *pod) signal(x syscall.Signal, names ...string) {
	p.Helper()
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(p.processes))
	}
	for _, name := range names {
		p.g.Expect(p.processes[name].Process.Signal(x)).To(Succeed(), name)
	}
}

// end removes the pod's processes and interfaces, as the kubelet does. Its object is still there.
func (p *pod) end() {
	p.Helper()
	p.signal(syscall.SIGKILL)
	p.api.CloseClientConnections()
	for _, device := range []string{wire.Device, "eth0"} {
		p.ns.Run(p, "ip", "link", "delete", device)
	}
}

// deleted removes the pod's object.
func (p *pod) deleted() {
	for _, f := range p.forget {
		f()
	}
}

// newBuild returns the programs where any user may run them.
func newBuild(t *testing.T) build {
	t.Helper()
	g, dir := NewWithT(t), shared(t)
	b := build{program: filepath.Join(dir, wire.Program), plugins: programs.RequireCNIPlugins(t)}
	b.dummies = netns.New(t).Command(t.Context(), "ip", "link", "add", "x", "type", "dummy").Run() == nil
	out, err := exec.CommandContext(t.Context(), "cp", "--dereference", programs.RequireOwn(t, wire.Program), b.program).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	return b
}
