// Package resources decides the xDS resources for the connections of one network, and how Envoy starts. It does no
// I/O.
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
//   - Removed listeners and chains drain for ten minutes (see Arguments). Then Envoy resets their
//     connections: those to a name that was withdrawn or has another backend, and those to a port
//     that started or stopped reading server names.
//
// # The access log
//
// Envoy reports each connection that ends, over a second socket of oooi, if the level of the
// plan includes it. The level is a runtime value (RTDS). If it were a part of the listener, each change
// would replace the listener, and reset all connections of the previous one after the drain time.
//
// # External hosts
//
// An external host is reachable only by its own server name and at its own port.
// Envoy does not inspect what the host serves. So allowing a name of a content delivery
// network allows only the host with that name.
package resources
