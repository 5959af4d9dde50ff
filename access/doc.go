// Package access is the way in from the management cluster: an HTTP CONNECT proxy (RFC 9110, section 9.3.6) to what a
// plan opens on a network, and plain TCP ports, each of which forwards to one of these destinations.
//
//	bytes of a caller       -> ParseHead, ParseAuthority  -> what the caller asks for
//	Policy, VMs, Authority  -> Find                       -> the addresses that are dialed, or none
//	keys, time, token       -> Verify                     -> whose token it is
//
// These are pure functions. Server runs them: it accepts, dials, and carries bytes. What a caller names is looked up: an
// address that neither the plan nor a lease has is never dialed, whatever a caller sends.
package access
