// Package envoy contains the packages for Envoy, the data path of an edge. Envoy passes TLS through; it reads only the server name.
//
//	resources  listeners, clusters and endpoints of a plan, and how Envoy starts
//	ads        sends the resources to Envoy, in steps that break nothing
//	gate       limits the connections of each VM
//	accesslog  receives Envoy's reports of connections
//	admin      reads from Envoy whether it serves
//	listen     the Unix sockets at which Envoy finds ads, gate and accesslog
//
// Its tests run a real Envoy.
package envoy
