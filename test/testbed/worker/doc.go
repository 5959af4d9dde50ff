// Package worker boots workers of a hosted cluster, from power-on to a node that is Ready. Each worker is a machine, a VM that
// package machine imitates with namespaces. It connects to edges only as a VM on the VLAN does.
//
// These parts are stand-ins: the power-on, the provider ID that a cloud controller sets, and the approvals of
// the machine-approver. Instead of an image of the operating system, a machine uses the files of the host, in a mount namespace.
package worker
