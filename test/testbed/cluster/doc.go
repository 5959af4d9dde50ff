// Package cluster runs a real Kubernetes on this machine: etcd, API server,
// controller manager, scheduler, containerd, kubelet and kube-proxy built from Go
// modules, Multus in front of the bridge plugin, CoreDNS as a pod, and a bridge that
// stands for the physical LAN with tagged VLANs on it. It has one node, or as many as
// [Options] say; the cables of the further ones can be pulled.
//
// A node lives in a network namespace and a mount namespace of its own; what
// a cluster keeps lies in one state directory. [Up] makes it, [Attach] finds it, and
// [Cluster.Down] removes it from what it finds on the host, also after an Up that
// was killed half-way. It needs root, and is as strict as OpenShift where that
// can be had: see manifests/restricted.yaml.
package cluster
