// Package agent decides about an edge as a whole: whether it serves, when it is ready, and what it
// reports. Decisions are pure functions and value machines, Next(state, event, now). Thin runners
// feed them and act.
//
//	device, plan, routes     -> serving.Interface, proxy.Admit  -> what one server may serve
//	answers of the servers   -> serving.Debounce, Health        -> whether the edge serves
//	the edge and its peer    -> Readiness                       -> whether the pod is ready
package agent
