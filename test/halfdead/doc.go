// Package halfdead measures what VMs notice of an edge that is neither alive nor gone: deaf,
// mute, hung, cut off from one of its two networks, or there twice. It also shows what connections
// through an edge notice of a VM that migrates.
// Two edges run as in their pods, as unprivileged processes in network namespaces. The
// servers, Envoy and the kernels are real. There is no Kubernetes.
package halfdead
