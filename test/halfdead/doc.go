// Package halfdead measures what VMs notice of an edge that works only in part. The edge cannot receive packets (deaf), cannot send
// packets (mute), hangs, has lost one of its two networks, or runs twice. The package also measures what happens to connections through
// an edge when a VM migrates.
//
// Two edges run as unprivileged processes in network namespaces, as in their pods. The servers, Envoy and the kernels are real.
// Kubernetes does not run.
package halfdead
