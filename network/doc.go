// Package network decides what is served to one hosted cluster on its isolated
// networks. Derive takes a Request (what the user asks for), Facts (what is observed),
// the plan in force, and the other hosted clusters on the same networks. It returns a
// Plan (what is served) and Problems (why the plan differs from the request).
//
// It is pure: standard library only, no I/O, no clock, no Kubernetes. The laws
// of Derive, each held by a test:
//
//   - total: all arguments give a Decision, never a panic
//   - deterministic: equal arguments in any order give equal bytes
//   - stable: later additions move no address, and addresses in use never move
//   - idempotent: with its own plan in force, it decides the same plan
//   - valid: without an Error, Plan.Validate finds nothing
//   - the plan round-trips through JSON, and plans of earlier formats are read
//   - self-contained: a server needs the plan and nothing else to start
//
// # Words
//
// A network is one isolated layer-2 network that VMs attach to, and what is served
// on it. An edge is a pod of oooi on a network. Every edge of a network holds the
// next-hop VIP (the address that VMs route through; nothing serves on it), the
// service VIP (DNS and the published endpoints), every address that HyperShift
// published as a bare IP, and one edge address of its own.
package network
