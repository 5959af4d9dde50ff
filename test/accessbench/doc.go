// Package accessbench compares ways from a pod of the management cluster to a VM: the kernel of the edge forwards (direct), our access
// proxy, Envoy's TCP proxy, and konnectivity with its agent on the VM. Pod, edge and VM are network namespaces. The test binary is the client and the VM, in processes of
// their own. One run measures the ways alternately, so that ratios hold on a busy host. It also measures what a stream through our proxy takes
// from the VMs' own way through the edge's Envoy. `make bench-access` runs it.
package accessbench
