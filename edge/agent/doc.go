// Package agent is the life of an edge: when its servers may serve, which listeners are
// admissible, whether the edge as a whole serves, and when it is ready. Decisions are pure
// functions and value machines, Next(state, event, now). Thin runners feed them and act.
// It decides nothing about DHCP, DNS, connections or failover itself.
//
//	device, plan, routes     -> Interface.Admissible, Admit  -> what one server may serve
//	answers of the servers   -> Debounce, Health             -> whether the edge serves
//	the edge and its peer    -> Readiness                    -> whether the pod is ready
package agent
