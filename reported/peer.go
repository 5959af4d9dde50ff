// This file decides the problems that follow from the reports of edges. They are about an unreachable peer,
// configuration that Envoy refuses, missing endpoints and ports, external hosts that are not dialed, and hosts that
// answer for every address.

package reported

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// States of the peer in an EdgeReport, as the failover agent names them.
const (
	// PeerServing: the peer reports that it serves.
	PeerServing = "serving"
	// PeerImpaired: the peer serves, but at a lower level than this edge.
	PeerImpaired = "impaired"
	// PeerUnreachable: no message from the peer arrives.
	PeerUnreachable = "unreachable"
)

// Levels of an edge in an EdgeReport, as the failover agent names them, from the lowest to the highest.
const (
	// LevelNothing: the edge does not serve, or receives nothing from the network.
	LevelNothing = "nothing"
	// LevelServes: the servers of the edge answer.
	LevelServes = "serves"
	// LevelReaches: the API server of the hosted cluster also answers through the edge.
	LevelReaches = "reaches"
)

// PlansDifferAfter is how long two serving edges may have different plans. A change of the plan reaches edges within
// seconds.
const PlansDifferAfter = 30 * time.Second

// A Refusal is one resource that Envoy refuses. Zero: none.
type Refusal struct {
	// Type is the type of the resource in words, such as "listener".
	Type string `json:"type"`
	Name string `json:"name"`
	// Error is Envoy's error message.
	Error string `json:"error"`
}

func (r Refusal) normalized() Refusal {
	return Refusal{oneLine(r.Type), oneLine(r.Name), phrase(r.Error)}
}

// EdgesRefuseConfiguration returns a Warning for each edge of n whose Envoy refuses a part of its configuration. The
// rest is served.
func EdgesRefuseConfiguration(n network.Network, all []EdgeReport) problem.Problems {
	var ps problem.Problems
	for _, r := range all {
		if x := r.EnvoyRefuses; x != (Refusal{}) {
			ps = append(ps, n.Problem(problem.EdgeRefusesConfiguration, problem.Args{"edge": {strconv.Itoa(r.Edge)}, "type": {x.Type}, "name": {x.Name}, "error": {x.Error}}))
		}
	}
	return ps
}

// EdgesOpenNoPort returns a Warning for each edge of n that cannot open ports for callers. The rest is served.
func EdgesOpenNoPort(n network.Network, all []EdgeReport) problem.Problems {
	planned := append(n.Access.Balanced(), n.Access.PlainPorts()...)
	planned = append(planned, n.Access.Port) // 0 if there is no such port. Edges do not report port 0.
	var ps problem.Problems
	for _, r := range all {
		var closed []string
		for _, port := range r.ClosedPorts {
			if slices.Contains(planned, port) {
				closed = append(closed, strconv.Itoa(int(port)))
			}
		}
		if len(closed) > 0 {
			ps = append(ps, n.Problem(problem.EdgeOpensNoPort, problem.Args{"edge": {strconv.Itoa(r.Edge)}, "ports": closed}))
		}
	}
	return ps
}

// EdgesReachNoEndpoint returns the Warnings about backends of n without usable endpoints, from the number of serving
// edges and their reports. A backend that nodes need is a problem if no edge can use an endpoint of it. Any other
// backend is a problem for each report that names it.
func EdgesReachNoEndpoint(n network.Network, serving int, all []EdgeReport) problem.Problems {
	var ps problem.Problems
	missing := map[string]bool{}
	for _, b := range n.NeededBackends() {
		if n.Primary && serving > 0 && countDark(all, b) == serving {
			missing[b.Name] = true
			ps = append(ps, problem.New(problem.NoEdgeReachesEndpoint, problem.Subject{Kind: "Service", Name: b.Service}, problem.Args{"service": {b.Service}}))
		}
	}
	for _, r := range all {
		var dark []string
		for _, name := range r.DarkBackends {
			if !missing[name] && slices.ContainsFunc(n.Backends, func(b network.Backend) bool { return b.Name == name }) {
				dark = append(dark, name)
			}
		}
		if len(dark) > 0 {
			ps = append(ps, n.Problem(problem.EdgeReachesNoEndpoint, problem.Args{"edge": {strconv.Itoa(r.Edge)}, "backends": dark}))
		}
	}
	return ps
}

// countDark returns the number of reports in which b is one of DarkBackends. For the API server, an edge that reaches
// it does not count: it may only be too slow for health checks.
func countDark(all []EdgeReport, b network.Backend) (out int) {
	for _, r := range all {
		if slices.Contains(r.DarkBackends, b.Name) && (!b.IsAPI() || r.Level != LevelReaches) {
			out++
		}
	}
	return out
}

// KernelCauses returns the causes of problems with the kernel of an edge: it accepts forged messages, or lacks routes.
// VMs can cause some of these problems, so none of them ends service.
func KernelCauses() []problem.Cause {
	return []problem.Cause{problem.EdgeAnswersForgedSources, problem.EdgeAnswersForgedIPv6Sources, problem.EdgeTakesForgedRedirects, problem.EdgeHasAdvertisedRoute, problem.EdgeLacksClientRoutes}
}

// maxControls is the number of Controls. It is enough, because a host without proxy ARP has few addresses, which are
// not spread over the CIDR.
const maxControls = 3

// Controls returns up to maxControls addresses, spread over n's CIDR, that no edge will have. A host that answers for
// all of them uses proxy ARP, so its other answers show no conflict. With fewer than two, as in a small CIDR, proxy ARP
// is not detected.
func Controls(n network.Network) []netip.Addr {
	var out []netip.Addr
	for _, eighth := range []int{4, 6, 2, 5, 3, 7, 1} {
		a := network.HostAddress(n.CIDR, eighth<<max(0, 32-n.CIDR.Bits())/8)
		if a.IsValid() && !slices.Contains(n.HeldAddresses(), a) && !slices.Contains(out, a) && len(out) < maxControls {
			out = append(out, a)
		}
	}
	return out
}

// ConflictingWith returns the entries of ts that are addresses of n's edges, sorted, without duplicates, and without
// hosts that use proxy ARP.
func ConflictingWith(n network.Network, ts []UsedAddress) []UsedAddress {
	all := answersForAll(n, ts)
	return slices.DeleteFunc(sortedInUse(ts), func(t UsedAddress) bool {
		return !slices.Contains(ProbedAddresses(n), t.Address) || slices.Contains(all, t.MAC)
	})
}

// answersForAll returns the MACs with proxy ARP, sorted: they answer for all Controls.
func answersForAll(n network.Network, ts []UsedAddress) []string {
	controls, answers := Controls(n), map[string]int{}
	for _, t := range sortedInUse(ts) {
		if slices.Contains(controls, t.Address) {
			answers[t.MAC]++
		}
	}
	var out []string
	for mac, count := range answers {
		if len(controls) > 1 && count == len(controls) {
			out = append(out, mac)
		}
	}
	slices.Sort(out)
	return out
}

// RefusedHosts returns a problem about external hosts of n with addresses that edges do not dial. Unknown names are
// ignored.
func RefusedHosts(n network.Network, names []string) problem.Problems {
	var known []string
	for _, b := range n.Backends {
		if b.Kind == network.BackendExternal && slices.Contains(names, b.Name) {
			known = append(known, b.Name)
		}
	}
	if len(known) == 0 {
		return nil
	}
	cause := problem.HostInsideManagement
	if len(n.ClientNetworks) > 0 {
		cause = problem.HostInClientNetwork // or inside the management cluster: the edges do not report which
	}
	return problem.Problems{n.Problem(cause, problem.Args{"hosts": known}, network.KeyAllowedHosts)}
}
