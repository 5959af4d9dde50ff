// Package envoy makes the xDS resources for the connections of one network, and
// serves them to an Envoy over a Unix socket. Envoy passes TLS through; it reads
// only the server name.
//
// # Open connections survive changes
//
// An open connection survives every change of the plan for other connections:
//
//   - The fields of a listener depend only on its address, its port and whether
//     server names are read. Everything else is in filter chains, one for each
//     server name. Envoy keeps equal chains when it replaces others.
//   - A chain names a cluster. A cluster depends only on the backend's name and
//     its HTTP proxy. Only endpoints (EDS) hold the destinations.
//   - Removed listeners and chains drain for one day (see Arguments).
//
// Each former version of a listener takes memory of Envoy for that day, about 170 KiB with
// 50 names. So changes are gathered: after some twenty of them, a chain or a listener that goes
// stays for minutes. Its cluster has no endpoints at once, so no connection to it is possible, and
// a name that comes back changes nothing. If the backend has another name, the name that
// goes still leads to it. An exact name that goes hides a wildcard for that time. A name that
// moves to another backend gets a cluster of its own, whose endpoints change when it moves again.
//
// Changes are make-before-break. A listener names a new cluster only after
// Envoy has accepted that cluster and its endpoints. A cluster is removed only
// after Envoy has accepted all listeners without it.
//
// A response that Envoy refuses, or does not answer, is not done. What depends on it
// waits, and Envoy keeps what it has. After a refusal, Envoy gets each resource of the
// response alone, so that one bad resource holds up no other. A refused one is
// sent again every ten seconds, and once it changes.
//
// # The access log
//
// Envoy reports each connection that ends, over a second socket of ours, if the level of the
// plan includes it. The level is a runtime value (RTDS). As a part of a listener, a change of it
// would replace the listener, and cut all connections of the former one after the drain time.
//
// # External hosts
//
// An external host is reachable only by its own server name and at its own port.
// Envoy does not inspect what the host serves. So the name of a content delivery
// network allows that host and no other.
//
// # Restarts of the server
//
// While the server is away, Envoy keeps its last configuration. Afterwards it tells
// the names and versions that it has, and receives only the difference, in the same
// steps. The version of a resource is a hash of its content.
package envoy
