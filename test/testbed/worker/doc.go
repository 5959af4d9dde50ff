// Package worker plays the virtual machines of a hosted cluster, each by a machine of package machine, from power-on
// to a node that is Ready.
//
// This file says what the package is; it does nothing. The package never talks to
// what it tests except as a machine on the VLAN would.
//
// What is played: switching on, the operating system's image (the host's files,
// under a mount namespace of its own), the ignition payload (which cannot exist
// without machine-config-operator images), the cloud controller's provider id and
// the machine-approver's approvals.
package worker
