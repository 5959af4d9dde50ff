// Package halfdead measures what VMs notice of an edge that is neither alive nor gone: deaf,
// mute, hung, cut off from one of its two networks, or there twice.
// Two edges run as in their pods, as unprivileged processes in network namespaces. The
// servers, Envoy and the kernels are real. There is no Kubernetes.
package halfdead
