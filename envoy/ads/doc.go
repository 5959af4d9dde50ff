// Package ads serves Envoy its resources over a Unix socket (ADS, incremental xDS).
//
// Changes are make-before-break. A listener names a new cluster only after
// Envoy has accepted that cluster and its endpoints. A cluster is removed only
// after Envoy has accepted all listeners without it. One that a name left for another stays for
// 11 s more: a connection that came before may still ask the gate, or dial.
//
// A response that Envoy refuses, or does not answer, is not done. What depends on it
// waits, and Envoy keeps what it has. After a refusal, Envoy gets each resource of the
// response alone, so that one bad resource holds up no other. A refused one is
// sent again every ten seconds, and once it changes.
//
// # Changes that repeat
//
// Each former version of a listener takes memory of Envoy for the drain time of ten minutes, about 170 KiB with
// 50 names. So after some twenty changes at once, listeners change every few seconds only. A listener
// that goes does not wait. A name that goes has no endpoints at once, so no connection to it is
// possible, unless its backend has another name. A name that moves keeps its previous backend until then.
//
// # Restarts of the server
//
// While the server is away, Envoy keeps its last configuration. Afterwards it sends
// the names and versions that it has, and receives only the difference, in the same
// steps. The version of a resource is a hash of its content.
package ads
