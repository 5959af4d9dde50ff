// Package access is an HTTP CONNECT proxy (RFC 9110, section 9.3.6) from the management cluster to the destinations that a
// plan opens on a network. It also has plain TCP ports, each of which forwards to one of these destinations.
//
//	bytes of a caller       -> ParseHead, ParseAuthority  -> what the caller asks for
//	Policy, VMs, Authority  -> Find                       -> the addresses that are dialed, or none
//	keys, time, token       -> Verify                     -> the ServiceAccount of the caller
//
// These are pure functions. Server calls them, accepts, dials and carries bytes. It dials no address that the plan and
// leases do not name, whatever a caller sends.
package access
