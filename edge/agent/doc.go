// Package agent decides about an edge as a whole: whether it serves, when it is ready, and what it
// reports. An edge is a pod of oooi on a network. Decisions are pure functions, or values whose
// method Next returns the next value and the result. The rest of the package passes events to them,
// and acts on the results.
//
//	device, plan, routes     -> serving.Interface, proxy.Admit  -> what one server may serve
//	answers of the servers   -> serving.Debounce, Health        -> whether the edge serves
//	the edge and its peer    -> Readiness                       -> whether the pod is ready
package agent
