// Package networks tests what VMs notice of two edges on each kind of network that edges can join. The edges join with the
// NetworkAttachmentDefinitions and the Multus annotation that the operator would write. The CNI plugins, the servers of edges, their
// failover agents, the kernels and the OVN daemons are real. OVN-Kubernetes is replaced by a table of what it writes into OVN's
// databases for a pod. Kubernetes does not run.
package networks
