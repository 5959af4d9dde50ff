// This file decides which nodes a cluster has. It adds nodes, and disconnects them.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// MaxNodes is the largest number of nodes of a cluster.
const MaxNodes = 9

// numbered returns the node with this number, from 1, whether it exists or not. Node 1 is in the network namespace of the
// control plane and the LAN.
func (c *Cluster) numbered(number int) Node {
	name, part := fmt.Sprintf("node%d", number), ""
	if number > 1 {
		part = name
	}
	return Node{
		Name: name, IP: fmt.Sprintf("10.240.0.%d", number), PodCIDR: fmt.Sprintf("10.244.%d.0/24", number-1),
		Cgroup: c.HostName(part), Runtime: c.Runtime(filepath.Join(c.Dir, name), lan.NetNSPath(c.HostName(part))),
		number: number, cluster: c,
	}
}

// node returns the first node.
func (c *Cluster) node() Node { return c.numbered(1) }

// Nodes returns the nodes whose network namespaces exist, in the order of their numbers.
func (c *Cluster) Nodes() []Node {
	nodes := []Node{c.node()}
	for number := 2; number <= MaxNodes; number++ {
		n := c.numbered(number)
		if _, err := os.Stat(n.Runtime.NetNS); err == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// onNodes calls do for all nodes at the same time.
func (c *Cluster) onNodes(ctx context.Context, do func(context.Context, Node) error) error {
	together, ctx := errgroup.WithContext(ctx)
	for _, n := range c.Nodes() {
		together.Go(func() error {
			if err := do(ctx, n); err != nil {
				return fmt.Errorf("%s: %w", n.Name, err)
			}
			return nil
		})
	}
	return together.Wait()
}

// addNodes adds nodes until there are want.
func (c *Cluster) addNodes(ctx context.Context, want int) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	for number := len(c.Nodes()) + 1; number <= want; number++ {
		n := c.numbered(number)
		if err := c.join(ctx, client, n); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		c.say("%s joined", n.Name)
	}
	return nil
}

// join adds node n, and waits until it is Ready, has the images of the first node, resolves names and enforces NetworkPolicies.
func (c *Cluster) join(ctx context.Context, client kubernetes.Interface, n Node) error {
	there := c.Nodes()
	if err := c.prepareNode(n); err != nil {
		return err
	}
	if err := n.connect(there); err != nil {
		return err
	}
	if err := n.startRuntime(ctx); err != nil {
		return err
	}
	if err := n.Runtime.copyImages(ctx, c.node().Runtime); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	if err := n.startAgents(); err != nil {
		return err
	}
	if err := process.Await(ctx, "node ready", n.Runtime.Dir, "kubelet", n.ready(client)); err != nil {
		return err
	}
	if err := process.Await(ctx, "cluster DNS", n.Runtime.Dir, "kubelet", daemonSetReady(client, "kube-system", "coredns", len(there)+1)); err != nil {
		return err
	}
	return n.enforcePolicies(ctx)
}

// connect connects the node to the LAN, and adds routes so that all nodes reach each other's pods.
func (n Node) connect(others []Node) error {
	if err := n.cluster.LAN().Connect(n.Runtime.NetNS, n.number); err != nil {
		return err
	}
	for _, o := range others {
		if err := errors.Join(n.routeTo(o), o.routeTo(n)); err != nil {
			return err
		}
	}
	return nil
}

// routeTo adds a route from n to the pods of another node.
func (n Node) routeTo(other Node) error {
	return lan.Route(n.Runtime.NetNS, netip.MustParsePrefix(other.PodCIDR), netip.MustParseAddr(other.IP))
}

// pulled reports whether the node is disconnected from the LAN. The first node never is.
func (n Node) pulled() bool { return n.cluster.LAN().Pulled(n.number) }

// copyImages imports all images of another runtime.
func (r Runtime) copyImages(ctx context.Context, from Runtime) error {
	listing, err := host.Output(from.ctr(ctx, "images", "list", "--quiet"))
	if err != nil {
		return err
	}
	var names []string
	for _, name := range strings.Fields(string(listing)) {
		if !strings.HasPrefix(name, "sha256:") { // The CRI plugin adds such a name to each image.
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	// Without --local, the output of ctr may lack its end (containerd 2.4).
	export, load := from.ctr(ctx, append([]string{"images", "export", "--local", "-"}, names...)...), r.ctr(ctx, "images", "import", "-")
	var complaint strings.Builder
	export.Stdout, export.Stderr, load.Stdin = in, &complaint, out
	err = export.Start()
	in.Close()
	if err == nil {
		_, err = host.Output(load)
		out.Close() // Ends the export if the import no longer reads.
		if failed := export.Wait(); failed != nil {
			err = errors.Join(err, fmt.Errorf("export: %w: %s", failed, complaint.String()))
		}
	}
	return err
}

// NodeDown disconnects the node with this number, 2 or higher, from the LAN. Its processes continue, but cannot be reached. It
// does nothing if the node is already disconnected.
func (c *Cluster) NodeDown(number int) error { return c.plug(number, false) }

// NodeUp connects the node with this number to the LAN again. It does not wait until the node is Ready, for which kubelet needs
// up to 10 seconds.
func (c *Cluster) NodeUp(number int) error { return c.plug(number, true) }

func (c *Cluster) plug(number int, in bool) error {
	if number == 1 {
		return errors.New("node1 has no cable to pull: the control plane and the LAN itself are in its network namespace")
	}
	if number < 1 || number > len(c.Nodes()) {
		return fmt.Errorf("node %d: cluster %s has nodes 1 to %d", number, c.Name, len(c.Nodes()))
	}
	return c.LAN().Plug(number, in)
}
