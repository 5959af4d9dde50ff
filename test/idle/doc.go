// Package idle measures what an edge costs while nothing uses it: CPU time and
// memory of all its processes, beside an older build if there is one
// (`make bench-idle`). The servers, Envoy, the API server and the kernel are real.
package idle
