// Package apiproxybench measures what oooi-apiproxy adds to requests: the program as a gateway, before a process that plays
// an API server. A reverse proxy of Go's library that renames nothing is measured too, since it has the same hops.
//
// All three speak HTTP/2 over TLS, as Kubernetes clients and API servers do. One run measures them alternately, so that
// ratios hold on a busy host. `make bench-apiproxy` runs it.
package apiproxybench
