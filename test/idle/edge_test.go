// This file starts the edges that are measured, as their pods would.

package idle

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/containers"
	"github.com/cldmnky/oooi/test/netns"
)

const (
	apiHost = "10.9.0.1"
	apiPort = "6443"
)

// An edge is the processes of one edge's pod.
type edge struct {
	ns           *netns.Namespace
	dir, program string
	// processes by the name of their container.
	processes map[string]int
	// containers are what each process holds.
	containers containers.Pod
	// probes is the CPU time of the kubelet's probes so far.
	probes time.Duration
}

// newEdge starts an edge of its own copies of the programs, so that it shares no
// pages with another edge.
func newEdge(t *testing.T, vlan, pods *netns.Segment, number int, secrets, program, envoyProgram, plan string) *edge {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "oooi-idle-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	e := &edge{ns: netns.New(t), dir: dir, processes: map[string]int{}}
	e.program, envoyProgram = e.copy(t, program, wire.Program), e.copy(t, envoyProgram, "envoy")
	own := "192.168.100." + strconv.Itoa(3+number)
	vlan.Attach(t, e.ns, "net1", "", "192.168.100.2/32", own+"/24", "192.168.100.3/32", "10.240.0.200/32")
	pods.Attach(t, e.ns, "eth0", "", "10.9.0."+own[len("192.168.100."):]+"/24")
	for _, device := range []string{"net1", "eth0"} {
		e.ns.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "0")
	}
	e.ns.Route(t, "0.0.0.0/0", apiHost)
	services := network.AllServices()
	if exec.CommandContext(t.Context(), e.program, string(network.ServiceNTP), "--help").Run() != nil { // An older build.
		services = slices.DeleteFunc(services, func(s network.Service) bool { return s == network.ServiceNTP })
	}
	e.containers = containers.NewPod(t, dir, e.program, os.Getuid(), services, secrets)
	flags := []string{"--plan", plan, "--network", "clusters.vlan100", "--edge", strconv.Itoa(number), "--interface", "net1", "--run-dir", wire.RunDir}
	for _, s := range services {
		e.start(t, string(s), e.program, slices.Concat(e.containers.Command(string(s)), flags, wire.WatchArguments(services, string(s)))...)
	}
	e.start(t, wire.Failover, e.program, slices.Concat(e.containers.Command(wire.Failover), flags, wire.WatchArguments(services, wire.Failover))...)
	e.start(t, wire.Envoy, envoyProgram, resources.Arguments(resources.NewDirs(wire.EnvoyDirs(wire.RunDir)), "oooi", resources.NewLimits(2560<<20, 0))...)
	return e
}

func (e *edge) copy(t *testing.T, from, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
	return to
}

// start runs a container's process with what its container holds.
func (e *edge) start(t *testing.T, name, program string, args ...string) {
	t.Helper()
	script := e.containers.Mounts(name) + ` && exec "$@"`
	c := e.ns.Command(context.WithoutCancel(t.Context()), "sh", append([]string{"-c", script, "-", program}, args...)...)
	c.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+apiHost, "KUBERNETES_SERVICE_PORT="+apiPort)
	output, err := os.Create(filepath.Join(e.dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = output, output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	e.processes[name] = c.Process.Pid // ip, sh and the program are one process.
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if said, err := os.ReadFile(output.Name()); err == nil && t.Failed() {
			t.Logf("%s said:\n%s", name, said)
		}
	})
}

// probe asks all servers whether they are ready, as the kubelet does.
func (e *edge) probe(ctx context.Context) error {
	for name := range e.processes {
		if name == wire.Envoy {
			continue // The probe of `oooi-edge proxy` asks Envoy.
		}
		c := exec.CommandContext(ctx, e.program, e.containers.Probe(name)...)
		err := c.Run()
		if c.ProcessState != nil {
			e.probes += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
