// Package idle measures what an idle edge costs: CPU time and memory of all its processes,
// compared with an older build if there is one (`make bench-idle`). The servers, Envoy,
// the API server and the kernel are real.
package idle
