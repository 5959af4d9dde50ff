// This file reads what edges report, and decides which problems follow. It does not change the plan.

package decide

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// reportedInUse returns problems about addresses of p that the address conflict detection found in use.
func (w view) reportedInUse(p network.Plan, now time.Time) problem.Problems {
	var ps problem.Problems
	for _, n := range p.Networks {
		ps = append(ps, reported.InUseByOthers(n, w.inUse(n, now))...)
	}
	return ps
}

// reportedByEdges returns the problems that the edges of p report. Parameter all has the rollouts of p's networks, in
// their order.
func (w view) reportedByEdges(p network.Plan, all []Rolled) problem.Problems {
	var ps problem.Problems
	for i, n := range p.Networks {
		current := current(all[i])
		nameOf := func(mac string) string { return networks.VMWithMAC(w.Objects, mac) }
		count, running, hosts := w.runningEdges(n)
		ps = slices.Concat(ps, reported.SharedVIPs(n, hosts.VIPHosts, nameOf), reported.RogueDHCPServers(n, hosts.DHCPServers, nameOf), reported.ForgedPeers(n, hosts.PeerHosts, nameOf), reported.YieldedTo(n, hosts.AddressesInUse, nameOf), reported.RefusedHosts(n, hosts.RefusedHosts))
		ps = slices.Concat(ps, reported.DHCP(n, running, nameOf, func(edge int) problem.Subject { return w.subjectOf(n, edge) }))
		for _, e := range n.Edges {
			of := w.observed(n, e)
			if of.reports && of.Degraded.Cause != "" {
				ps = append(ps, reported.FailoverDegraded(n, e.Number, w.subject(n, e), of.Degraded))
			}
			for _, c := range of.causes(w.observedPeer(n, e), current) {
				ps = append(ps, n.Problem(c, problem.Args{"edge": {strconv.Itoa(e.Number)}}).Of(w.subject(n, e)))
			}
		}
		ps = append(ps, w.partitioned(n, all[i].Decision)...)
		if p, ok := w.clocksUnsynchronized(n); ok {
			ps = append(ps, p)
		}
		ps = slices.Concat(ps, reported.EdgesRefuseConfiguration(n, running), reported.EdgesOpenNoPort(n, running), reported.EdgesReachNoEndpoint(n, count, running), reported.BootsStalled(n, running))
	}
	return ps
}

// clocksUnsynchronized returns the problem that running edges of n report unsynchronized clocks. An edge of a release
// without NTP does not count as synchronized, and only the younger of an edge's two pods counts.
func (w view) clocksUnsynchronized(n network.Network) (problem.Problem, bool) {
	var with []int
	var without []reported.EdgeReport
	serving := 0
	for _, e := range n.Edges {
		of := w.observed(n, e)
		if !of.available {
			continue
		}
		serving++
		live, _ := w.Edge(wire.EdgeDeploymentName(n, e))
		switch {
		case !of.reports || of.Yields:
		case of.ClockUnsynchronized.Cause != "":
			without = append(without, of.EdgeReport)
		case slices.Contains(containerNames(live.Live.Spec.Template), string(network.ServiceNTP)):
			with = append(with, e.Number)
		}
	}
	return reported.ClocksUnsynchronized(n, with, without, serving, func(edge int) string {
		selected := fmt.Sprintf("-n %s -l %s=%s", hcp.ControlPlaneNamespace(w.HostedCluster), wire.LabelNetwork, wire.NetworkLabel(n.Name))
		if edge == 0 {
			return selected
		}
		return fmt.Sprintf("%s,%s=%d", selected, wire.LabelEdge, edge)
	})
}

// runningEdges returns the number of edges of n that run, and their reports. hosts has what they report about other
// hosts. An edge that yields is not available. So hosts.AddressesInUse comes from all edges, available or not.
func (w view) runningEdges(n network.Network) (count int, reports []reported.EdgeReport, hosts reported.EdgeReport) {
	for _, e := range n.Edges {
		of := w.observed(n, e)
		hosts.AddressesInUse = append(hosts.AddressesInUse, of.AddressesInUse...)
		if !of.available {
			continue
		}
		count++
		hosts.DHCPServers, hosts.PeerHosts = append(hosts.DHCPServers, of.DHCPServers...), append(hosts.PeerHosts, of.PeerHosts...)
		hosts.VIPHosts, hosts.RefusedHosts = append(hosts.VIPHosts, of.VIPHosts...), append(hosts.RefusedHosts, of.RefusedHosts...)
		if of.reports && !of.Yields {
			reports = append(reports, of.EdgeReport)
		}
	}
	return count, reports, hosts
}

func (w view) partitioned(n network.Network, d rollout.Decision) problem.Problems {
	i := slices.IndexFunc(n.Edges, func(e network.Edge) bool { return wire.EdgeDeploymentName(n, e) == d.Partitioned })
	if i < 0 {
		return nil
	}
	edge, subject := strconv.Itoa(n.Edges[i].Number), w.subject(n, n.Edges[i])
	ps := problem.Problems{n.Problem(problem.PeerNotHeard, problem.Args{"edge": {edge}}, network.KeyEdgeNodeSelector).Of(subject)}
	if d.Held {
		minutes := strconv.Itoa(int(rollout.Deadline.Minutes()))
		ps = append(ps, n.Problem(problem.EdgesHeld, problem.Args{"edge": {edge}, "minutes": {minutes}}).Of(subject))
	}
	return ps
}

// An observation has the last report of an edge, and says whether its pod runs.
type observation struct {
	// reports is true if there is a report. EdgeReport is the last one. It may be from a pod that no longer exists.
	reports bool
	reported.EdgeReport
	// available is true if the edge's pod runs, so that the report is current.
	available bool
}

func (w view) observed(n network.Network, e network.Edge) observation {
	live, exists := w.Edge(wire.EdgeDeploymentName(n, e))
	o := observation{available: exists && live.Seen.Available}
	i := slices.IndexFunc(w.EdgeReports, func(r gather.NetworkReport) bool { return r.Network == wire.NetworkLabel(n.Name) && r.Edge == e.Number })
	if i >= 0 {
		o.reports, o.EdgeReport = true, w.EdgeReports[i].EdgeReport
	}
	return o
}

// observedPeer returns the observation of the other edge of n, or the zero observation if there is none.
func (w view) observedPeer(n network.Network, e network.Edge) observation {
	for _, x := range n.Edges {
		if x.Number != e.Number {
			return w.observed(n, x)
		}
	}
	return observation{}
}

// causes returns what is wrong with the edge that o is about, according to its own report and its peer's. The peer's
// report is enough, because an edge whose cluster network is cut cannot report. If neither edge reaches the API server,
// neither is at fault. current is true if all edges run the newest version. Otherwise, their plans may differ.
func (o observation) causes(peer observation, current bool) []problem.Cause {
	var out []problem.Cause
	// The younger of two pods replaces the report of the older one only after some minutes.
	if peer.available && peer.PeerDuplicated || !peer.available && o.available && o.Yields {
		out = append(out, problem.EdgeHasTwoPods)
	}
	if o.available && o.PlansDiffer && current && (o.Edge == 1 || !peer.PlansDiffer) {
		out = append(out, problem.PlansDiffer)
	}
	if o.available {
		out = append(out, o.Believes...)
	}
	switch {
	case !o.available || o.Yields:
	case o.Deaf:
		out = append(out, problem.EdgeHearsNothing)
	case peer.available && (peer.Peer == reported.PeerImpaired || peer.Level == reported.LevelReaches && o.Level == reported.LevelServes):
		out = append(out, problem.EdgeReachesLess)
	}
	return out
}

// current reports whether all edges of r run the wanted version and serve.
func current(r Rolled) bool {
	return !slices.ContainsFunc(r.Steps, func(s rollout.Step) bool { return s.Version != rollout.Current || s.Health != rollout.Serving })
}

func (w view) subjectOf(n network.Network, edge int) problem.Subject {
	for _, e := range n.Edges {
		if e.Number == edge {
			return w.subject(n, e)
		}
	}
	return problem.Subject{}
}

func (w view) subject(n network.Network, e network.Edge) problem.Subject {
	return gather.EdgeSubject(hcp.ControlPlaneNamespace(w.HostedCluster), wire.EdgeDeploymentName(n, e))
}
