// What one node is made of: containerd, kubelet, kube-proxy, CNI. The control
// plane is not known here but by its address.

package testbed

import "path/filepath"

// node is one Kubernetes node.
type node struct {
	Name    string
	IP      string
	Runtime Runtime
}

// node is the cluster's one node.
func (c *Cluster) node() node {
	return node{Name: "node1", IP: NodeIP, Runtime: c.Runtime(filepath.Join(c.Dir, "node1"), c.NetNS())}
}
