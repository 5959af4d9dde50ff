// Package ads serves Envoy its resources over a Unix socket (ADS, incremental xDS).
//
// Changes are make-before-break. A listener names a new cluster only after Envoy has accepted that
// cluster and its endpoints. A cluster is removed only after Envoy has accepted all listeners
// without it. If a server name moves to another cluster, the previous cluster stays 11 s longer. An
// earlier connection may still wait for the gate (package gate), or dial.
//
// If Envoy refuses a response, or does not answer, everything that depends on the response
// waits, and Envoy keeps what it has. After a refusal, Envoy gets each resource of the
// response alone, so that one bad resource does not delay the others. A refused resource is
// sent again every ten seconds, and when it changes.
//
// # Changes that repeat
//
// Envoy keeps each former version of a listener in memory for the drain time of ten minutes, about 170 KiB with
// 50 names. So after some twenty changes in quick succession, listeners change only every few seconds. Removing a listener
// does not wait. If a name is removed, its cluster loses its endpoints immediately, so connections to the name
// fail, unless another name uses the same backend. A name that moves keeps its previous backend until the listener changes.
//
// # Restarts of the server
//
// While the server is away, Envoy keeps its last configuration. Afterwards it sends
// the names and versions that it has, and receives only the difference, in the same
// steps. The version of a resource is a hash of its content.
package ads
