// This file has the names, addresses and paths of a cluster, and its clients. It neither starts nor stops anything.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// The addresses of every cluster. Clusters can have equal addresses, because each has a network namespace of its own.
const (
	NodeIP        = "10.240.0.1"      // of the first node on the LAN, and of the API server
	LANGateway    = "10.240.0.254"    // default gateway of the nodes; no host has this address
	PodCIDR       = "10.244.0.0/24"   // pods of the first node
	ClusterCIDR   = "10.244.0.0/16"   // pods of all nodes
	ServiceCIDR   = "10.96.0.0/16"    // Services
	ClusterDNS    = "10.96.0.10"      // CoreDNS
	RegistryAddr  = "10.240.0.1:5000" // for a registry on the first node
	APIServerPort = 6443              // on NodeIP and every other address of the first node
	MaxPods       = 240               // on one node
)

// Options say which cluster to use, and where its progress is written.
type Options struct {
	Name  string    // of the cluster, [a-z0-9-]; "" means "tb"
	Nodes int       // smallest number of nodes, up to MaxNodes; 0 means 1
	Log   io.Writer // gets a line for each step; nil: no lines are written
}

// A Cluster is a running cluster. Use [Up] or [Attach].
type Cluster struct {
	Name string // as in Options
	Dir  string // state directory, absolute

	log *progress.Log
}

var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$`)

// open returns the cluster with the name in o, whether it runs or not.
func open(o Options) (*Cluster, error) {
	if o.Name == "" {
		o.Name = "tb"
	}
	if !clusterName.MatchString(o.Name) {
		return nil, fmt.Errorf("cluster name %q: want at most 20 of a-z, 0-9 and -", o.Name)
	}
	dir, err := filepath.Abs(filepath.Join(StateRoot(), o.Name))
	if err != nil {
		return nil, err
	}
	for _, private := range privateDirs() {
		if dir == private || strings.HasPrefix(dir, private+"/") {
			return nil, fmt.Errorf("state directory %s: %s is private to the node; set OOOI_TESTBED_DIR", dir, private)
		}
	}
	if len(dir) > 60 {
		return nil, fmt.Errorf("state directory %s: its Unix sockets would have too long a path; set OOOI_TESTBED_DIR", dir)
	}
	return &Cluster{Name: o.Name, Dir: dir, log: progress.New(o.Log)}, nil
}

// StateRoot returns the directory that contains the state directories of all clusters.
func StateRoot() string {
	if d := os.Getenv("OOOI_TESTBED_DIR"); d != "" {
		return d
	}
	return "/var/tmp/oooi-testbed"
}

// Attach returns the running cluster with this name ("" means "tb"), or an error if none runs.
func Attach(name string) (*Cluster, error) {
	c, err := open(Options{Name: name})
	if err != nil {
		return nil, err
	}
	for _, path := range []string{c.NetNS(), c.Kubeconfig()} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("cluster %s is not up: %w", c.Name, err)
		}
	}
	return c, nil
}

// LogTo makes the cluster write lines about further steps to w.
func (c *Cluster) LogTo(w io.Writer) { c.log = progress.New(w) }

func (c *Cluster) say(format string, args ...any) { c.log.Say(format, args...) }

// HostName returns the name on the host of an object that belongs to the cluster: oooi-<cluster>, or oooi-<cluster>.<part>.
// Down removes network namespaces and cgroup roots with these names.
func (c *Cluster) HostName(part string) string {
	if part == "" {
		return "oooi-" + c.Name
	}
	return "oooi-" + c.Name + "." + part
}

// NetNS returns the path of the network namespace of the first node, the control plane and the LAN.
func (c *Cluster) NetNS() string { return lan.NetNSPath(c.HostName("")) }

// LAN returns the LAN of the cluster.
func (c *Cluster) LAN() lan.LAN {
	return lan.LAN{NetNS: c.NetNS(), Plugin: filepath.Join(c.CNIBin(), "bridgevlan")}
}

// Build builds the programs with these names. [Cluster.Bin] then returns their paths.
func (c *Cluster) Build(ctx context.Context, names ...string) error {
	return build.Install(ctx, c.log, filepath.Join(c.Dir, "bin"), c.CNIBin(), names...)
}

// Start starts a daemon of the cluster, and returns its process ID. It does not wait until the daemon serves.
func (c *Cluster) Start(d process.Daemon) (int, error) { return process.Start(c.Dir, d) }

// Bin returns the path of a program that [Cluster.Build] has built.
func (c *Cluster) Bin(name string) string { return filepath.Join(c.Dir, "bin", name) }

// CNIBin returns the directory of the CNI plugins.
func (c *Cluster) CNIBin() string { return filepath.Join(c.Dir, "cni") }

// Kubeconfig returns the path of the administrator's kubeconfig. Its server can be reached only inside the cluster's network
// namespace.
func (c *Cluster) Kubeconfig() string { return c.pki("admin.kubeconfig") }

func (c *Cluster) pki(file string) string { return filepath.Join(c.Dir, "pki", file) }

// RESTConfig returns the administrator's configuration of clients. It works from the host's network namespace, because it
// dials inside the cluster's.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.Dial = lan.DialNetNS(c.NetNS())
	config.QPS, config.Burst = 200, 400
	return config, nil
}

// Command returns a command that runs in the first node's network namespace. The programs of the cluster are first on its
// PATH, and its KUBECONFIG is the administrator's.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return c.enter(ctx, []string{"--net=" + c.NetNS()}, name, args)
}

// NodeCommand returns a command like that of [Cluster.Command], but also in the mount namespace of the first node's
// containerd. /run and /var/lib there are the node's. For other nodes, use [Runtime.Command].
func (c *Cluster) NodeCommand(ctx context.Context, name string, args ...string) *exec.Cmd {
	return c.node().Runtime.Command(ctx, name, args...)
}

// outputAfter is how long a program's output is read after the program has ended: a child may keep the pipe open.
const outputAfter = 5 * time.Second

func (c *Cluster) enter(ctx context.Context, namespaces []string, name string, args []string) *exec.Cmd {
	argv := append(append(namespaces, "--", name), args...)
	cmd := exec.CommandContext(ctx, "nsenter", argv...)
	cmd.Env = append(process.Environment(c.Dir, c.Dir), "KUBECONFIG="+c.Kubeconfig())
	cmd.WaitDelay = outputAfter
	return cmd
}

// Kubectl runs kubectl as the administrator, and returns its standard output. An error contains its standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) ([]byte, error) {
	return host.Output(c.Command(ctx, c.Bin("kubectl"), args...))
}

// Apply applies YAML documents server-side, as field manager "testbed".
func (c *Cluster) Apply(ctx context.Context, manifest []byte) error {
	return c.pipe(ctx, manifest, "apply", "--server-side", "--force-conflicts", "--field-manager=testbed", "-f", "-")
}

// Delete deletes the objects in YAML documents, and returns when they no longer exist.
func (c *Cluster) Delete(ctx context.Context, manifest []byte) error {
	return c.pipe(ctx, manifest, "delete", "--ignore-not-found", "--timeout="+await.Patience.String(), "-f", "-")
}

// pipe runs kubectl with args, and manifest on its standard input.
func (c *Cluster) pipe(ctx context.Context, manifest []byte, args ...string) error {
	cmd := c.Command(ctx, c.Bin("kubectl"), args...)
	cmd.Stdin = bytes.NewReader(manifest)
	_, err := host.Output(cmd)
	return err
}

// ImportImage imports the image in a tar archive into the containerd of every node.
func (c *Cluster) ImportImage(ctx context.Context, tar string) error {
	return c.onNodes(ctx, func(ctx context.Context, n Node) error { return n.Runtime.Import(ctx, tar) })
}
