// Package envoy makes what an Envoy needs to carry one network's connections to
// the control plane, passing TLS through unread but for the server name: the
// xDS resources of a plan, and the server that gives them to an Envoy beside it
// over a Unix socket.
//
// # What stays when something changes
//
// A connection that was made stays, whatever the plan does to others:
//
//   - A listener's own fields follow from its address, port and whether server
//     names are looked at. All else is in filter chains, one per server name, and
//     Envoy exchanges chains without touching those that are equal.
//   - Chains name a cluster, which follows from the backend's name and HTTP proxy
//     alone. Who stands behind it is said by endpoints (EDS) only.
//   - What is taken away is drained for a day (see Arguments).
//
// Changes are made before broken: a listener names a new cluster only after
// Envoy has taken that cluster and its endpoints, and a cluster goes only after
// no listener names it.
//
// # What gets out
//
// What is outside of the management cluster is opened by its own server name
// only, and dialled at its own port only. What a host serves behind one name is
// not looked into, so a name of a content network opens that host, no other.
//
// # Without us
//
// Envoy keeps what it took last while the server is away, and is told only the
// difference when it is back: a resource's version is a hash of its content.
package envoy
