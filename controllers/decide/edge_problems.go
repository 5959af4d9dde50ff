// This file decides which problems follow from Deployments of oooi that are not ready. One edge is enough to serve a
// network.

package decide

import (
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// EdgeProblems returns the problems of all Deployments of oooi that exist after d was carried out.
func EdgeProblems(d Decision, edges []gather.Edge, reports []gather.NetworkReport) problem.Problems {
	var out problem.Problems
	for _, e := range edges {
		switch {
		case e.Role == gather.RoleACD:
			out = append(out, checkProblem(d.Plan, e))
		case e.Role == gather.RoleEdge && !e.Seen.Available:
			out = append(out, unavailable(d, e, edges, notServing(reports, e))...)
			out = append(out, overdue(d, e, edges)...)
		}
	}
	return out
}

func checkProblem(p network.Plan, acd gather.Edge) problem.Problem {
	name := networkName(p, acd.Network)
	args := problem.Args{"network": {name}, "deployment": {acd.Name}, "command": {acd.Command()}}
	cause := problem.AddressCheckRunning
	if acd.Refused != "" {
		cause, args["error"] = problem.AddressCheckRefused, []string{acd.Refused}
	}
	return problem.New(cause, problem.Subject{Kind: "Network", Name: name}, args)
}

// unavailable returns problems that say why e is unavailable. If no other edge serves, VMs have no service, and the
// problems are Errors, or Waiting while e starts. Servers with the same fault share a problem.
func unavailable(d Decision, e gather.Edge, edges []gather.Edge, faults []reported.ServerFault) (out problem.Problems) {
	add := func(one, all problem.Cause, args problem.Args) {
		args["network"], args["services"], args["command"] = []string{networkName(d.Plan, e.Network)}, servicesOf(d.Plan, e.Network), []string{e.Command()}
		p := problem.New(all, e.Subject(), args)
		if len(gather.Available(edges, e.Network)) > 0 {
			p = problem.New(one, e.Subject(), args)
		} else if e.Starting() {
			p.Severity = problem.SeverityWaiting
		}
		out = append(out, p)
	}
	switch {
	case e.Refused != "":
		add(problem.EdgePodRefused, problem.NetworkEdgeRefused, problem.Args{"error": {e.Refused}})
	case e.Ending:
		add(problem.EdgePodTerminating, problem.NetworkEdgeTerminating, problem.Args{})
	case len(faults) == 0:
		add(problem.EdgePodNotReady, problem.NetworkEdgeNotReady, problem.Args{})
	default:
		for len(faults) > 0 {
			same := func(f reported.ServerFault) bool { return f.Cause == faults[0].Cause && f.Error == faults[0].Error }
			args := problem.Args{"why": {string(faults[0].Cause)}, "error": {faults[0].Error}}
			for _, f := range faults {
				if same(f) {
					args["servers"] = append(args["servers"], explain.ServiceInWords(f.Server))
				}
			}
			add(problem.EdgeNotServing, problem.NetworkEdgeNotServing, args)
			faults = slices.DeleteFunc(slices.Clone(faults), same)
		}
	}
	return out
}

// notServing returns the faults of e's servers in its last report, or nil if there is no report.
func notServing(reports []gather.NetworkReport, e gather.Edge) []reported.ServerFault {
	i := slices.IndexFunc(reports, func(r gather.NetworkReport) bool { return r.Network == e.Network && r.Edge > 0 && r.Edge == e.Number })
	if i < 0 {
		return nil
	}
	return reports[i].NotServing
}

// missingEdges returns problems of edges in the plan in force that have no Deployment and are not being created.
func (w view) missingEdges() problem.Problems {
	var out problem.Problems
	for _, n := range w.Last.Networks {
		label := wire.NetworkLabel(n.Name)
		if _, checked := w.Edge(wire.ACDDeploymentName(n)); checked {
			continue
		}
		args := problem.Args{"network": {n.Attachment.String()}, "services": servicesOf(w.Last, label)}
		if len(w.EdgesOn(label)) == 0 {
			out = append(out, problem.New(problem.NetworkEdgesMissing, problem.Subject{Kind: "Network", Name: n.Attachment.String()}, args))
			continue
		}
		for _, e := range n.Edges {
			if _, exists := w.Edge(wire.EdgeDeploymentName(n, e)); !exists {
				out = append(out, problem.New(problem.EdgeMissing, w.subject(n, e), args))
			}
		}
	}
	return out
}

// overdue returns the problems that follow if e has been unavailable for long. Its peer may be on hold because of e.
// Either the operator waits for e's node, or nothing prevents a drain of the peer's node any longer.
func overdue(d Decision, e gather.Edge, edges []gather.Edge) problem.Problems {
	s, ok := d.StepOf(e.Name)
	peer := slices.IndexFunc(edges, func(x gather.Edge) bool {
		return x.Role == gather.RoleEdge && x.Network == e.Network && x.Name != e.Name
	})
	if !ok || peer < 0 || s.Node == "" && s.Health != rollout.Failed && s.Health != rollout.Stuck {
		return nil
	}
	args := problem.Args{"peer": {edges[peer].Name}, "minutes": {strconv.Itoa(int(rollout.Deadline.Minutes()))}}
	out := problem.Problems{problem.New(problem.EdgeOverdue, e.Subject(), args, network.KeyEdges, network.KeyEdgeNodeSelector)}
	if s.Node != "" {
		args["node"], args["hours"] = []string{s.Node}, []string{strconv.Itoa(int(rollout.MaintenanceLimit.Hours()))}
		out = problem.Problems{problem.New(problem.EdgeAwaitsNode, e.Subject(), args)}
	}
	if s, _ := d.StepOf(edges[peer].Name); d.Action == Serve && s.Action == rollout.Hold && s.Peer == e.Name {
		held := problem.Args{"peer": {e.Name}, "deployment": {edges[peer].Name}}
		out = append(out, problem.New(problem.EdgeRolloutHeld, edges[peer].Subject(), held))
	}
	return out
}

func networkName(p network.Plan, label string) string {
	if n, ok := networkLabelled(p, label); ok {
		return n.Attachment.String()
	}
	return label
}

func servicesOf(p network.Plan, label string) (names []string) {
	n, ok := networkLabelled(p, label)
	if !ok {
		return []string{"service"}
	}
	for _, s := range n.Services {
		names = append(names, explain.ServiceInWords(s))
	}
	return names
}

func networkLabelled(p network.Plan, label string) (network.Network, bool) {
	i := slices.IndexFunc(p.Networks, func(n network.Network) bool { return wire.NetworkLabel(n.Name) == label })
	if i < 0 {
		return network.Network{}, false
	}
	return p.Networks[i], true
}
