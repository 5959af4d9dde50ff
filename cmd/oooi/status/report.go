// This file derives the output of `oooi status` from facts. It is pure.

package status

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// Facts are what was read about one hosted cluster.
type Facts struct {
	hcp.LiveCluster
	// Read is true if the HostedCluster was read.
	Read bool
	// Settings is the hash of the current annotations, as in explain.Report. Empty: unknown.
	Settings string
	// Inputs is the hash of the other current fields from which plans are derived. Empty: unknown.
	Inputs string
	// Stored is the operator's status: the Report that it stored in a ConfigMap. It is nil if it cannot be used. noReport
	// then says why and what to do, in sentences. noReportRight is true if the user lacks the right to read it.
	Stored        *explain.Report
	noReport      string
	noReportRight bool
	Build         string
	// Plan is the plan in force. It is known if PlanRead is true. PlanHash is the explain.PlanHash of its stored text.
	Plan     network.Plan
	PlanHash string
	PlanRead bool
	// NoPlan says in a sentence why there is no plan. Empty: there is one, or the user may not read it.
	NoPlan string
	// Ready says whether each edge is ready, and Pods why its pod does not run. The keys are the names of Deployments. Nil:
	// unknown.
	Ready map[string]bool
	Pods  map[string]string
	// Reports are the reports of edges, by the name of the Lease that contains them.
	Reports map[string]reported.EdgeReport
	// renewed is when each report was last renewed, by the name of its Lease. A missing time is unknown.
	renewed map[string]time.Time
	Leases  []Leased
	// LeasesRead is true if leases and reports are known.
	LeasesRead bool
	// Slices are the EndpointSlices of the control plane. Empty: unknown.
	Slices []discoveryv1.EndpointSlice
	// Led says for each Service of the control plane, by name, whether it forwards to edges. Nil: unknown.
	Led map[string]bool
	// events are the events in the namespaces of the HostedCluster and of the control plane. Some are about objects
	// other than the HostedCluster and edges. eventsUnread says in sentences which events could not be read.
	events       []corev1.Event
	eventsUnread []string
	// unread says in sentences what could not be read.
	unread []string
}

// A HealthState is what is known about a backend.
type HealthState int

const (
	// StateUnknown: not all Ready edges report about the backend, or its Service has no EndpointSlice.
	StateUnknown HealthState = iota
	// StateFine: no Ready edge reports a fault.
	StateFine
	// StateFaulty: an edge reports a fault, which Health describes.
	StateFaulty
	// StateWithoutEndpoint: its Service has EndpointSlices, but no endpoint in them that edges dial.
	StateWithoutEndpoint
)

// OutputOf returns the output for f. Parameter now is the current time.
func OutputOf(f Facts, now time.Time) Output {
	f = f.WithoutOldReports(now).counting(now)
	r := Output{
		Version: statusVersion, Cluster: f.Namespace + "/" + f.Name, ControlPlane: f.ControlPlane,
		Networks: []Network{}, Problems: []statusProblem{}, Events: f.recentEvents(), EventsUnread: f.eventsUnread, Unread: f.unread, Blind: !f.Read || f.Settings == "" || f.noReportRight,
	}
	if f.lacksPlan() {
		r.Unread = append(slices.Clone(f.unread), f.NoPlan)
	}
	known := map[string]bool{}
	for i, n := range f.Plan.Networks {
		shown := f.network(n, now)
		shown.Access = f.access(i, n)
		shown.Boots, shown.BootsOmitted = f.boots(n)
		r.Networks = append(r.Networks, shown)
		known[wire.NetworkLabel(n.Name)] = true
	}
	for _, l := range f.Leases {
		if !known[l.Network] {
			r.Other = append(r.Other, l.row(now))
		}
	}
	if c := meta.FindStatusCondition(f.Conditions, own.ConditionType); c != nil {
		r.Condition = &statusCondition{Status: string(c.Status), Reason: c.Reason, Since: c.LastTransitionTime.UTC(), Current: f.current(*c)}
		if f.Stored == nil {
			for text := range strings.Lines(c.Message) {
				r.Condition.Message = append(r.Condition.Message, strings.TrimSuffix(text, "\n"))
			}
		}
	}
	if f.Stored != nil {
		r.Notes = f.Stored.Notes
		if n := f.Stored.Omitted; n > 0 {
			r.Notes = append(slices.Clone(r.Notes), fmt.Sprintf("%d more problems are not stored.", n))
		}
		for _, p := range f.Stored.Problems {
			page := command.ProblemsPage + "#" + strings.ToLower(string(p.Reason))
			r.Problems = append(r.Problems, statusProblem{p, page})
		}
	}
	if since := f.Recovering(); !since.IsZero() {
		r.Notes = append(slices.Clone(r.Notes), "HyperShift has recovered this cluster from a backup since "+since.Format(time.RFC3339)+
			", and has not finished (condition HostedClusterRestoredFromBackup).")
	}
	r.Boot = f.boot(r)
	return r
}

// oldReport is the age from which a report is ignored. Edges renew it every two minutes.
const oldReport = 5 * time.Minute

// WithoutOldReports returns f without the reports that are older than oldReport. Parameter now is the current time. If
// an edge cannot reach the management cluster's API server, or if its failover agent hangs, it does not renew its
// report.
func (f Facts) WithoutOldReports(now time.Time) Facts {
	f.Reports = maps.Clone(f.Reports)
	maps.DeleteFunc(f.Reports, func(name string, _ reported.EdgeReport) bool {
		at, timed := f.renewed[name]
		return timed && now.Sub(at) > oldReport
	})
	return f
}

// If WithoutOldReports removed the report in the Lease with this name, silentSince returns when the report was last
// renewed. Otherwise it returns zero.
func (f Facts) silentSince(name string) time.Time {
	if _, current := f.Reports[name]; current {
		return time.Time{}
	}
	return f.renewed[name]
}

func (f Facts) boot(r Output) statusAnswer {
	unknown := func(why string) statusAnswer { return statusAnswer{explain.Unknown, why} }
	switch {
	case !f.Read && f.Stored != nil:
		return f.bootAsStored(r)
	case !f.Read:
		return unknown("The HostedCluster cannot be read, and the operator's status is unknown. " + f.noReport)
	case r.Condition == nil && !f.OptedIn:
		return unknown("The HostedCluster does not have the annotation " + settings.Prefix + network.KeyNetwork + ", so oooi serves nothing.")
	case r.Condition == nil:
		return unknown("The operator has not reported. Check that the operator runs.")
	case r.Condition.Current.Answer != explain.Yes:
		return unknown(r.Condition.Current.Why)
	}
	answer := statusAnswer{f.Stored.Boots, f.Stored.Summary}
	if answer.Answer != explain.Yes {
		return answer
	}
	if f.lacksPlan() {
		return unknown("The operator's status says that nodes can boot, but no plan for edges is found. " + f.NoPlan)
	}
	if a, ok := f.contradiction(r.Networks); ok {
		return a
	}
	return answer
}

// contradiction is called if the operator's status says that nodes boot. If edges or Services contradict the status, it
// returns another answer and true.
func (f Facts) contradiction(networks []Network) (statusAnswer, bool) {
	for _, n := range networks {
		if n.Primary && !slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Ready != explain.No }) {
			return statusAnswer{explain.Unknown, "The operator's status says that nodes can boot, but no edge of network " + n.Name + " is ready now. Check that the operator runs."}, true
		}
	}
	lacks, lacking := f.lacks()
	if lacks.Answer == explain.No {
		return lacks, true
	}
	for _, n := range f.Plan.Networks {
		if _, checked := n.ReachBackend(); n.Primary && checked && !f.mayReach(n) {
			return statusAnswer{explain.Unknown, "The operator's status says that nodes can boot, but no edge of network " + n.Attachment.String() +
				" reports that it reaches the hosted API server. Look at their logs, and at the NetworkPolicies of namespace " + f.ControlPlane + "."}, true
		}
	}
	return lacks, lacking
}

// lacks looks for a backend that nodes need, but that has no endpoint, or none that edges reach. If there is one, it
// returns whether nodes boot without this backend. If none is known, ok is false.
func (f Facts) lacks() (out statusAnswer, ok bool) {
	for _, n := range f.Plan.Networks {
		why := map[string]string{}
		for _, p := range f.dark(n) {
			if p.Cause == problem.NoEdgeReachesEndpoint {
				why[p.Subject.Name] = explain.Problem(p).String()
			}
		}
		for _, b := range n.NeededBackends() {
			if n.Primary && f.endpoint(b) == explain.No {
				why[b.Service] = "Service " + b.Service + " of the control plane has no endpoint. Check its pods."
			}
			if why[b.Service] == "" || out.Answer == explain.No {
				continue
			}
			boots, effect := explain.Without(f.Plan.Networks, problem.New(problem.NoEdgeReachesEndpoint, problem.Subject{Kind: "Service", Name: b.Service}, nil))
			if boots == explain.Yes {
				effect = "nodes can become Ready, but " + effect
			}
			out, ok = statusAnswer{boots, strings.ToUpper(effect[:1]) + effect[1:] + " now. " + why[b.Service]}, true
		}
	}
	return out, ok
}

// mayReach reports whether an edge of n may reach the hosted API server. Edges that are not ready do not count. Neither do
// edges whose report is too old, or contains another level.
func (f Facts) mayReach(n network.Network) bool {
	return slices.ContainsFunc(n.Edges, func(e network.Edge) bool {
		name := wire.EdgeReportLease(n, e).Name
		level := f.Reports[name].Level
		return f.ReadyEdge(n, e) != explain.No && f.silentSince(name).IsZero() && (level == "" || level == reported.LevelReaches)
	})
}

// dark returns a problem for each backend for which all edges of n report no endpoint. It ignores edges that are not
// ready.
func (f Facts) dark(n network.Network) problem.Problems {
	var reports []reported.EdgeReport
	for _, e := range n.Edges {
		if f.ReadyEdge(n, e) != explain.No {
			reports = append(reports, f.Reports[wire.EdgeReportLease(n, e).Name])
		}
	}
	return reported.EdgesReachNoEndpoint(n, len(reports), reports)
}

// lacksPlan reports whether there is no plan in force although one is needed. The operator's status shows whether a plan
// is needed. Without that status, each hosted cluster that opted in needs a plan.
func (f Facts) lacksPlan() bool {
	needed := !f.Read || f.OptedIn
	if f.Stored != nil {
		needed = f.Stored.Plan != ""
	}
	return f.NoPlan != "" && needed
}

func (f Facts) network(n network.Network, now time.Time) Network {
	out := Network{
		Name: n.Attachment.String(), Primary: n.Primary, CIDR: n.CIDR, NextHopVIP: n.NextHopVIP, ServiceVIP: n.ServiceVIP, Services: n.Services,
		Edges: []Edge{}, Endpoints: []Target{}, Hosts: []Target{},
	}
	for _, e := range n.Edges {
		out.Edges = append(out.Edges, f.edge(n, e))
	}
	needed := func(b network.Backend) bool {
		return slices.ContainsFunc(n.NeededBackends(), func(x network.Backend) bool { return x.Name == b.Name })
	}
	for _, l := range n.Listeners {
		forwards := l.Forwards
		if l.Default != "" {
			forwards = append(slices.Clone(forwards), network.Forward{Backend: l.Default})
		}
		for _, x := range forwards {
			i := slices.IndexFunc(n.Backends, func(b network.Backend) bool { return b.Name == x.Backend })
			if i < 0 {
				continue
			}
			b := n.Backends[i]
			t := Target{Names: append([]string{}, x.ServerNames...), Address: netip.AddrPortFrom(l.Address, l.Port), Backend: b.Name, Needed: needed(b)}
			t.Health, t.State = f.health(n, b)
			if b.Kind == network.BackendExternal {
				t.Resolves = f.resolves(n, b)
				out.Hosts = append(out.Hosts, t)
			} else {
				out.Endpoints = append(out.Endpoints, t)
			}
		}
	}
	if f.LeasesRead {
		out.Leases = []statusLease{}
	}
	for _, l := range f.Leases {
		if l.Network == wire.NetworkLabel(n.Name) {
			out.Leases = append(out.Leases, l.row(now))
		}
	}
	return out
}

// edge returns the state of e. If the edge is not ready, it ignores the level in the edge's report, because a
// report outlives its pod.
func (f Facts) edge(n network.Network, e network.Edge) Edge {
	out := Edge{Number: e.Number, Deployment: wire.EdgeDeploymentName(n, e), Address: e.Address, Ready: f.ReadyEdge(n, e), CarriesVMs: f.carries(n, e)}
	r, reported := f.Reports[wire.EdgeReportLease(n, e).Name]
	if reported && out.Ready == explain.Yes {
		out.Level = r.Level
	}
	if at := f.silentSince(wire.EdgeReportLease(n, e).Name); !at.IsZero() && out.Ready != explain.No {
		out.ReportedLast = new(at.UTC())
	}
	if out.Ready == explain.No {
		out.NotServing, out.UnavailableSince = cmp.Or(f.Pods[out.Deployment], explain.ServerFaults(r.NotServing)), f.unavailableSince(out.Deployment)
	}
	return out
}

// unavailableSince returns when the operator first saw that the edge of a Deployment is unavailable. Nil: unknown.
func (f Facts) unavailableSince(deployment string) *time.Time {
	if f.Stored == nil {
		return nil
	}
	for _, e := range f.Stored.UnavailableEdges {
		if e.Name == deployment && !e.Since.IsZero() {
			return new(e.Since.UTC())
		}
	}
	return nil
}

// ReadyEdge says whether an edge is ready.
func (f Facts) ReadyEdge(n network.Network, e network.Edge) explain.Answer {
	return answerIn(f.Ready, wire.EdgeDeploymentName(n, e))
}

// answerIn returns known[name] as an answer. It returns Unknown if known is nil.
func answerIn(known map[string]bool, name string) explain.Answer {
	switch {
	case known == nil:
		return explain.Unknown
	case known[name]:
		return explain.Yes
	}
	return explain.No
}

// carries says whether VMs of n use e now. VMs use the edge that sent the last failover announcement. If one edge serves
// alone, it has sent that announcement. While both edges serve, each reports whether it has connections of VMs.
func (f Facts) carries(n network.Network, e network.Edge) explain.Answer {
	ready := f.ReadyEdge(n, e)
	if len(n.Edges) == 1 {
		return ready
	}
	alone := func(e network.Edge) bool {
		r := f.Reports[wire.EdgeReportLease(n, e).Name]
		serves := r.Level == reported.LevelServes || r.Level == reported.LevelReaches
		return f.ReadyEdge(n, e) == explain.Yes && serves && !r.Deaf && !r.Yields && r.Peer == reported.PeerUnreachable
	}
	i := slices.IndexFunc(n.Edges, func(x network.Edge) bool { return x.Number != e.Number })
	switch peer := n.Edges[max(i, 0)]; {
	case alone(e) && f.ReadyEdge(n, peer) == explain.No:
		return explain.Yes
	case ready == explain.No && alone(peer):
		return explain.No
	case ready == explain.Yes:
		return connected(f.Reports[wire.EdgeReportLease(n, e).Name])
	}
	return explain.Unknown
}

func connected(r reported.EdgeReport) explain.Answer {
	switch r.Connected {
	case reported.ConnectedYes:
		return explain.Yes
	case reported.ConnectedNo:
		return explain.No
	}
	return explain.Unknown
}
