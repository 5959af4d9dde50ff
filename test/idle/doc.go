// Package idle measures what an idle edge costs: CPU time and memory of all its processes,
// compared with an older build if there is one (`make bench-idle`). It also measures the memory
// of a full edge, against the pod's requests and limits (`make bench-full`). The servers, Envoy,
// the API server and the kernel are real.
package idle
