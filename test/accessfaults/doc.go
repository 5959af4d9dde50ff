// Package accessfaults breaks edges, the API server and the plan under 100 tunnels from pods to a VM, and measures what each tunnel
// sees, and how soon a new one opens. Pods, two edges, the VM and the API server are network namespaces. Each edge runs the real
// DHCP server, which watches a real API server, and the real access proxy. `make bench-access-faults` runs it in full.
package accessfaults
