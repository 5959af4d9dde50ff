// Package networks shows what VMs notice of two edges on each kind of network that edges join. Edges join
// as the operator says it: through its NetworkAttachmentDefinitions and its annotation for Multus. The
// CNI plugins, the servers of edges, their failover agents, the kernels and the OVN daemons are real. A
// table stands in for OVN-Kubernetes: what it writes into OVN's databases for a pod.
// There is no Kubernetes.
package networks
