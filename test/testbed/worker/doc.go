// Package worker plays one virtual machine of a hosted cluster: a machine on the
// VLAN and nowhere else, with the parts of a HyperShift node that meet the
// network. Its DHCP client, resolver, HTTPS client, proxy, container runtime and
// kubelet are the real ones and none is ours.
//
// This file says what the package is; it does nothing. The package never talks to
// what it tests except as a machine on the VLAN would.
//
// What is played: switching on, the operating system's image (the host's files,
// under a mount namespace of its own), the ignition payload (which cannot exist
// without machine-config-operator images), the cloud controller's provider id and
// the machine-approver's approvals.
package worker
