// This file decides the order in which the parts of a cluster are started.

package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

//go:embed manifests/multus.yaml
var multusManifest []byte

//go:embed manifests/coredns.yaml
var corednsManifest []byte

//go:embed manifests/restricted.yaml
var restrictedManifest []byte

// HostPackages returns the Debian packages that [Up] needs on the host, with programs that it, kube-proxy, netpold and the CNI
// plugins call.
func HostPackages() []string {
	return []string{"iptables", "ipset", "nftables", "conntrack", "iproute2", "util-linux"}
}

// Up returns the running cluster with the name in o, and starts it if needed. If the cluster exists but is not healthy, Up
// removes it first. If it has too few nodes, Up adds nodes. After an error, everything stays for its logs, until Down.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	c, err := open(o)
	if err != nil {
		return nil, err
	}
	if o.Nodes > MaxNodes {
		return nil, fmt.Errorf("%d nodes: want at most %d", o.Nodes, MaxNodes)
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("the testbed needs root: it makes namespaces, cgroups and mounts")
	}
	unlock, err := host.Lock(ctx, c.Dir+".lock", nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.healthy(ctx) == nil {
		c.say("cluster %s is up", c.Name)
		return c, c.addNodes(ctx, o.Nodes)
	}
	if err := c.remove(); err != nil {
		return nil, fmt.Errorf("what is left of an earlier cluster %s: %w", c.Name, err)
	}
	if err := host.EnsurePackages(ctx, o.Log, HostPackages()...); err != nil {
		return nil, err
	}
	if err := c.Build(ctx, build.Base()...); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c, c.addNodes(ctx, o.Nodes)
}

// prepare writes the files of the cluster that its processes need when they start.
func (c *Cluster) prepare() error {
	for _, dir := range []string{"home", "log", "pid"} {
		if err := os.MkdirAll(filepath.Join(c.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := c.writePKI(); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	if err := c.prepareNode(c.node()); err != nil {
		return err
	}
	return c.chooseBridge()
}

// prepareNode writes the files that the processes of node n need when they start.
func (c *Cluster) prepareNode(n Node) error {
	if err := c.writeNodePKI(n); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	if err := lan.NewNetNS(filepath.Base(n.Runtime.NetNS)); err != nil {
		return err
	}
	if err := lan.NewBridge(n.Runtime.NetNS, netip.MustParsePrefix(n.IP+"/24"), netip.MustParseAddr(LANGateway)); err != nil {
		return err
	}
	return n.makePodNetwork()
}

// chooseBridge links the bridge plugin that supports VLANs on this kernel, under both of its names, into the directory of
// CNI plugins.
func (c *Cluster) chooseBridge() error {
	filters, err := c.LAN().FiltersVLANs()
	if err != nil {
		return err
	}
	plugin := "bridgevlan"
	if filters {
		plugin = "bridge.real"
	}
	for _, name := range []string{"bridge", "cnv-bridge"} {
		if err := host.ReplaceLink(plugin, filepath.Join(c.CNIBin(), name)); err != nil {
			return err
		}
	}
	return nil
}

// start starts everything and waits until pods can run.
func (c *Cluster) start(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	daemons, n := c.controlPlane(), c.node()
	for _, d := range daemons[:2] { // All others fail until these two serve.
		if _, err := c.Start(d); err != nil {
			return err
		}
	}
	together, inner := errgroup.WithContext(ctx)
	together.Go(func() error {
		if err := n.startRuntime(inner); err != nil {
			return err
		}
		c.say("containerd answers")
		return c.LoadImages(inner, "coredns")
	})
	together.Go(func() error {
		if err := process.Await(inner, "API server ready", c.Dir, "kube-apiserver", apiReady(client)); err != nil {
			return err
		}
		c.say("API server ready")
		for _, d := range daemons[2:] {
			if _, err := c.Start(d); err != nil {
				return err
			}
		}
		return c.applyBase(inner)
	})
	if err := together.Wait(); err != nil {
		return err
	}
	if err := n.startAgents(); err != nil {
		return err
	}
	if err := process.Await(ctx, "node ready", n.Runtime.Dir, "kubelet", n.ready(client)); err != nil {
		return err
	}
	c.say("node ready")
	err = process.Await(ctx, "default service account", c.Dir, "kube-controller-manager", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := process.Await(ctx, "cluster DNS", n.Runtime.Dir, "kubelet", daemonSetReady(client, "kube-system", "coredns", 1)); err != nil {
		return err
	}
	if err := n.enforcePolicies(ctx); err != nil {
		return err
	}
	c.say("cluster %s is up", c.Name)
	return nil
}

// applyBase applies the manifests that every cluster has.
func (c *Cluster) applyBase(ctx context.Context) error {
	for _, manifest := range [][]byte{multusManifest, corednsManifest, restrictedManifest, netpoldManifest} {
		if err := c.Apply(ctx, manifest); err != nil {
			return err
		}
	}
	return nil
}

// healthy returns nil if all processes run, the API server serves and the connected nodes are Ready.
func (c *Cluster) healthy(ctx context.Context) error {
	if _, err := Attach(c.Name); err != nil {
		return err
	}
	for _, d := range c.controlPlane() {
		if process.Pid(c.Dir, d.Name) == 0 {
			return fmt.Errorf("%s does not run", d.Name)
		}
	}
	for _, n := range c.Nodes() {
		for _, name := range n.daemons() {
			if process.Pid(n.Runtime.Dir, name) == 0 {
				return fmt.Errorf("%s of %s does not run", name, n.Name)
			}
		}
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // Up removes a cluster that is not healthy.
	defer cancel()
	if err := apiReady(client)(ctx); err != nil {
		return err
	}
	for _, n := range c.Nodes() {
		if n.pulled() { // A test has disconnected it.
			continue
		}
		if err := errors.Join(n.ready(client)(ctx), n.enforced(ctx)); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

// client returns a client with the administrator's rights.
func (c *Cluster) client() (kubernetes.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
