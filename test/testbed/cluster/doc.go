// Package cluster runs a real Kubernetes on this host. etcd, the API server, the controller manager, the scheduler,
// containerd, kubelet and kube-proxy are built from Go modules. Multus calls the bridge plugin, and CoreDNS runs as a pod. A
// bridge replaces the physical LAN, with tagged VLANs on it. A cluster has one node, or as many as [Options] say. All nodes
// but the first can be disconnected from the LAN.
//
// Each node has a network namespace and a mount namespace of its own. The files of a cluster are in one state directory.
// [Up] starts a cluster, and [Attach] finds a running one. [Cluster.Down] removes everything that it finds on the host, even
// if Up was killed before it had finished. The package needs root. Where possible, it restricts pods as OpenShift does: see
// manifests/restricted.yaml.
package cluster
