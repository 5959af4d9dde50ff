// Package network decides what is served to one hosted cluster on its isolated
// networks. It turns an Intent (what the cluster's objects ask for, in our
// words) into a Plan (what will be served), and says in Problems what keeps
// the plan from being whole.
//
// It is pure: standard library only, no I/O, no clock, no Kubernetes. The laws
// of a plan, each held by a test:
//
//   - total: any Intent gives a Plan or Problems, never a panic
//   - deterministic: equal intents, in whatever order, give equal bytes
//   - stable: what is added later leaves every address as it was
//   - valid: without blocking problems, Plan.Validate finds nothing
//   - round-trips through JSON
//   - self-contained: a server needs the plan and nothing else to start
//
// # Words
//
// A network is one layer-2 segment the cluster's virtual machines sit on. An
// edge is one pod of ours on a network. Every edge of a network holds the next
// hop (the address machines route by; nothing serves on it), the service
// address (DNS and the published endpoints), every address HyperShift published
// as a bare IP, and one address of its own.
package network
