// Package access is the way in from the management cluster: an HTTP CONNECT proxy (RFC 9110, section 9.3.6) to the
// destinations that a plan opens on a network, and plain TCP ports, each of which forwards to one of these destinations.
//
//	bytes of a caller       -> ParseHead, ParseAuthority  -> what the caller asks for
//	Policy, VMs, Authority  -> Find                       -> the addresses that are dialed, or none
//	keys, time, token       -> Verify                     -> the ServiceAccount of the caller
//
// These are pure functions. Server calls them, accepts, dials and carries bytes. Every destination is looked up in the plan
// and in leases: no other address is ever dialed, whatever a caller sends.
package access
