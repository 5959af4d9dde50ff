// This file enforces NetworkPolicies on a node. The network plugins do not enforce them.

package cluster

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/process"
)

//go:embed manifests/netpold.yaml
var netpoldManifest []byte

const netpold = "netpold"

// enforcePolicies starts netpold, and waits until NetworkPolicies are enforced for a pod of the node. The node must be Ready, and
// have a pod. If the kernel lacks a feature that netpold needs, enforcePolicies returns an error.
func (n Node) enforcePolicies(ctx context.Context) error {
	c := n.cluster
	_, err := c.Start(process.Daemon{Name: netpold, Dir: n.Runtime.Dir, NetNS: n.Runtime.NetNS, MountNS: n.Runtime.MountNS(), Args: []string{
		c.Bin(netpold), "--kubeconfig=" + c.pki("netpold.kubeconfig"), "--node=" + n.Name, "--services=" + ServiceCIDR,
	}})
	if err != nil {
		return err
	}
	return process.Await(ctx, "NetworkPolicies are enforced", n.Runtime.Dir, netpold, n.enforced)
}

// enforced returns an error unless the kernel filters the packets of a pod of the node. netpold has a chain for each pod of the
// node, whether a NetworkPolicy selects the pod or not.
func (n Node) enforced(ctx context.Context) error {
	rules, err := host.Output(n.Runtime.Command(ctx, "iptables", "--wait", "--list-rules", "KUBE-ROUTER-FORWARD"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(rules), "-j KUBE-POD-FW-") {
		return errors.New("no rule filters the packets of pods")
	}
	return nil
}
