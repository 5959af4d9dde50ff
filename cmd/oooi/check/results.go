// This file derives the lines of `oooi check` from facts. It is pure. What the operator would refuse is not decided here,
// but by the operator's own code.

package check

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// checkVersion is the version of the JSON output. Within a version, fields are added, but not renamed or removed.
const checkVersion = "v1"

// A checkReport is the output of `oooi check -o json`. Scripts rely on it.
type checkReport struct {
	Version string   `json:"version"`
	Groups  []checks `json:"groups"`
}

// checks are the lines about one subject, such as the installation or one hosted cluster.
type checks struct {
	Title  string    `json:"title"`
	Checks []checked `json:"checks"`
}

type checked struct {
	Name    string  `json:"name"`
	Verdict outcome `json:"verdict"`
	// Why says what was found, with the fix. Empty: there is nothing to say.
	Why string `json:"why,omitempty"`
	// Page is the URL with the complete fix. Empty: there is none.
	Page string `json:"page,omitempty"`
	// Problems that Why explains.
	Problems problem.Problems `json:"problems,omitempty"`
	// aside is true if the exit code ignores that the verdict is unsure.
	aside bool
}

type outcome string

const (
	fine    outcome = "ok"
	warning outcome = "warning"
	failure outcome = "failure"
	unsure  outcome = "unknown"
)

func (c checked) String() string {
	out := c.Name
	if c.Why != "" {
		out += ": " + c.Why
	}
	if c.Page != "" {
		out += " See " + c.Page
	}
	return out
}

// lineOf returns the line for the problems in found, the worst first. The worst one decides the verdict.
func lineOf(name string, found problem.Problems) checked {
	c := checked{Name: name, Verdict: fine, Problems: found.BySeverity()}
	var texts []string
	for _, p := range c.Problems {
		texts = append(texts, explain.Problem(p).String())
	}
	c.Why = strings.Join(texts, " ")
	if len(c.Problems) > 0 {
		c.Verdict = verdictOf(c.Problems[0].Severity)
	}
	if c.Verdict != fine {
		c.Page = command.ProblemsPage + "#" + strings.ToLower(string(c.Problems[0].Reason))
	}
	return c
}

// asideIf returns c. If parameter aside is true and the verdict is unsure, the exit code ignores c.
func (c checked) asideIf(aside bool) checked {
	c.aside = aside && c.Verdict == unsure
	return c
}

// verdictOf returns the verdict of a line whose worst problem has severity s. Waiting is fine, because HyperShift will
// publish what the plan waits for.
func verdictOf(s problem.Severity) outcome {
	switch s {
	case problem.SeverityError:
		return failure
	case problem.SeverityWarning:
		return warning
	case problem.SeverityInfo, problem.SeverityWaiting:
		return fine
	}
	return unsure // A newer operator may report severities that this program does not know.
}

func found(c problem.Cause, args problem.Args) problem.Problems {
	return problem.Problems{problem.New(c, problem.Subject{}, args)}
}

// about returns one problem, as function found does, but with a subject.
func about(c problem.Cause, kind, namespace, name string, args problem.Args) problem.Problems {
	return problem.Problems{problem.New(c, problem.Subject{Kind: kind, Namespace: namespace, Name: name}, args)}
}

func failed(err error) problem.Args {
	return problem.Args{"error": {strings.TrimSuffix(err.Error(), ".")}}
}

type neededKind struct {
	kind schema.GroupVersionKind
	// Field of is the product that defines the kind. absent is the problem if the kind is missing.
	of     string
	absent problem.Cause
	err    error
}

func neededKinds() []neededKind {
	return []neededKind{
		{kind: hcp.NewHostedCluster().GroupVersionKind(), of: "HyperShift", absent: problem.HyperShiftMissing},
		{kind: hcp.NodePoolKind(), of: "HyperShift", absent: problem.HyperShiftMissing},
		{kind: hcp.NADKind(), of: "Multus", absent: problem.MultusMissing},
		{kind: source.KindOf(wire.KubeVirtGroup, "v1", "VirtualMachineInstance"), of: "KubeVirt", absent: problem.KubeVirtMissing},
		{kind: source.KindOf("route.openshift.io", "v1", "Route"), of: "OpenShift", absent: problem.RoutesMissing},
	}
}

type installation struct {
	kinds                         []neededKind
	operators, policies, bindings []unstructured.Unstructured
	operatorsErr, policiesErr     error
}

func installationChecks(f installation) checks {
	out := checks{Title: "Installation"}
	for _, k := range f.kinds {
		var ps problem.Problems
		switch {
		case meta.IsNoMatchError(k.err):
			ps = found(k.absent, nil)
		case k.err != nil && !apierrors.IsForbidden(k.err): // If only a right is missing, the kind exists.
			ps = found(problem.Unread, failed(k.err))
		}
		out.Checks = append(out.Checks, lineOf(k.kind.Kind+"s of "+k.of, ps))
	}
	d, none := f.operator()
	if none == nil && d.Status.AvailableReplicas == 0 {
		none = about(problem.OperatorUnavailable, "Deployment", d.Namespace, d.Name, nil)
	}
	out.Checks = append(out.Checks, lineOf("operator", none))
	if d.Name != "" {
		out.Checks = append(out.Checks, imagesCheck(d))
	}
	out.Checks = append(out.Checks, lineOf("admission policies", policyProblems(f)))
	return out
}

// operator returns the operator's Deployment. none says why there is not exactly one.
func (f installation) operator() (d appsv1.Deployment, none problem.Problems) {
	switch {
	case f.operatorsErr != nil:
		return d, found(problem.Unread, failed(f.operatorsErr))
	case len(f.operators) == 0:
		return d, found(problem.OperatorMissing, nil)
	case len(f.operators) > 1:
		return d, found(problem.OperatorDuplicated, problem.Args{"count": {strconv.Itoa(len(f.operators))}})
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.operators[0].Object, &d); err != nil {
		return appsv1.Deployment{}, found(problem.Unread, failed(err))
	}
	return d, nil
}

// policyProblems returns the problems of the admission policies. A policy without a binding refuses nothing.
func policyProblems(f installation) problem.Problems {
	if f.policiesErr != nil {
		return found(problem.Unread, failed(f.policiesErr))
	}
	bound := map[string]bool{}
	for _, b := range f.bindings {
		name, _, _ := unstructured.NestedString(b.Object, "spec", "policyName")
		bound[name] = true
	}
	var loose []string
	for _, p := range f.policies {
		if !bound[p.GetName()] {
			loose = append(loose, p.GetName())
		}
	}
	switch {
	case len(f.policies) == 0:
		return found(problem.PoliciesMissing, nil)
	case len(loose) > 0:
		return found(problem.PoliciesUnbound, problem.Args{"policies": loose})
	}
	return nil
}

type clusterFacts struct {
	name string
	// planned is the plan that the operator would derive now. Nil: the cluster has not opted in, or cannot be read.
	planned *plan.Planned
	status  status.Output
	// read is true if the HostedCluster was read, and optedIn if it opted in.
	read, optedIn bool
	// partial is true if other hosted clusters cannot be listed.
	partial bool
	// unread says what is missing for the plan.
	unread []string
	preflight
}

func clusterChecks(f clusterFacts) checks {
	out := checks{Title: "HostedCluster " + f.name}
	if f.read && !f.optedIn {
		out.Checks = append(out.Checks, lineOf("opted in", found(problem.NotOptedIn, problem.Args{"annotation": {settings.Prefix + network.KeyNetwork}})))
		return out
	}
	for _, u := range slices.Concat(f.unread, f.status.Unread) {
		out.Checks = append(out.Checks, lineOf("what is read", found(problem.Unread, problem.Args{"error": {strings.TrimSuffix(u, ".")}})))
	}
	if f.partial {
		out.Checks = append(out.Checks, lineOf("other hosted clusters", found(problem.OtherClustersUnread, nil)).asideIf(true))
	}
	if f.planned != nil {
		out.Checks = append(out.Checks, planChecks(*f.planned, len(f.unread) > 0)...)
	}
	out.Checks = append(out.Checks, preflightChecks(f.preflight)...)
	if f.status.Condition == nil {
		out.Checks = append(out.Checks, lineOf("running", found(problem.NotReported, nil)))
		return out
	}
	out.Checks = append(out.Checks, reportChecks(f)...)
	for _, n := range f.status.Networks {
		out.Checks = append(append(out.Checks, networkChecks(n)...), edgeChecks(n)...)
	}
	return out
}

func reportChecks(f clusterFacts) (out []checked) {
	current := f.status.Condition.Current.Answer == explain.Yes
	if !current {
		out = append(out, checked{Name: "operator's report", Verdict: warning, Why: f.status.Condition.Current.Why})
	}
	boot := checked{Name: "nodes boot", Verdict: fine}
	if f.status.Boot.Answer != explain.Yes {
		boot.Verdict, boot.Why, boot.Page = unsure, f.status.Boot.Why, command.ProblemsPage
	}
	if f.status.Boot.Answer == explain.No {
		boot.Verdict = failure
	}
	out = append(out, boot)
	for _, p := range f.status.Problems {
		v := verdictOf(p.Severity)
		if p.Reason == problem.Paused { // Edges serve, but changes have no effect.
			v = warning
		}
		if v != fine && current && !f.plans(p.Problem) {
			out = append(out, checked{Name: string(p.Reason), Verdict: v, Why: p.Text, Page: p.Page, Problems: problem.Problems{p.Problem}})
		}
	}
	return out
}

// plans reports whether the current plan has a problem with p's cause and subject. planChecks has a line for it then.
func (f clusterFacts) plans(p problem.Problem) bool {
	return f.planned != nil && slices.ContainsFunc(f.planned.Problems, func(x problem.Problem) bool {
		return x.Cause == p.Cause && x.Subject == p.Subject
	})
}

func planChecks(p plan.Planned, partial bool) (out []checked) {
	for _, x := range p.Problems {
		if x.Reason == problem.EdgesCannotStart {
			continue // nodeChecks also know the free resources.
		}
		c := lineOf(string(x.Reason), problem.Problems{x})
		if explain.FailsAlone(x) {
			c.Verdict = failure
		}
		if partial && c.Verdict == failure {
			c.Verdict = unsure // The plan may lack something that could not be read.
		}
		if c.Verdict != fine {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = append(out, lineOf("plan", nil))
	}
	return out
}

// faultOf returns a problem that says why e is not ready or does not serve. Nil: no reason is known.
func faultOf(e status.Edge) problem.Problems {
	if e.NotServing == "" {
		return nil
	}
	return found(problem.EdgeFault, problem.Args{"edge": {strconv.Itoa(e.Number)}, "error": {strings.TrimSuffix(e.NotServing, ".")}})
}

func networkChecks(n status.Network) (out []checked) {
	ready, faults := 0, problem.Problems(nil)
	for _, e := range n.Edges {
		if e.Ready == explain.Yes {
			ready++
		}
		faults = append(faults, faultOf(e)...)
	}
	var ps problem.Problems
	switch {
	case len(n.Edges) == 0 || n.Edges[0].Ready == explain.Unknown:
		ps = found(problem.EdgesReadyUnknown, nil)
	case ready == 0:
		ps = append(found(problem.NoEdgeReady, nil), faults...)
	case ready < len(n.Edges):
		ps = append(found(problem.EdgesLeft, problem.Args{"ready": {strconv.Itoa(ready)}, "count": {strconv.Itoa(len(n.Edges))}}), faults...)
	}
	out = append(out, lineOf("edges of "+n.Name, ps))
	if n.Primary && !slices.Contains(n.Services, network.ServiceDHCP) && len(n.Services) > 0 {
		out = append(out, lineOf("DHCP of "+n.Name, found(problem.DHCPLeftToOthers, nil)))
	}
	for _, t := range slices.Concat(n.Endpoints, n.Hosts) {
		if ps := backendProblems(t); ps != nil {
			out = append(out, lineOf("backend "+t.Backend, ps))
		}
	}
	return out
}

func backendProblems(t status.Target) problem.Problems {
	switch {
	case t.State == status.StateFine, t.State == status.StateUnknown:
		return nil
	case t.State == status.StateWithoutEndpoint && t.Needed:
		return found(problem.NeededBackendWithoutPod, nil)
	case t.State == status.StateWithoutEndpoint:
		return found(problem.BackendWithoutPod, nil)
	}
	return found(problem.BackendFault, problem.Args{"error": {t.Health}})
}

// edgeChecks returns the results of the test that each edge repeats: the edge connects to the API server over TLS through
// its own proxy. Edges that are not ready are left out, because their reports may be old.
func edgeChecks(n status.Network) (out []checked) {
	for _, e := range n.Edges {
		if e.Ready != explain.Yes {
			continue
		}
		var ps problem.Problems
		switch e.Level {
		case reported.LevelReaches:
		case reported.LevelServes:
			ps = found(problem.EdgeReachesNoAPI, nil)
		case reported.LevelNothing:
			ps = append(found(problem.EdgeServesNothing, nil), faultOf(e)...)
		default:
			ps = found(problem.EdgeSilent, nil)
		}
		out = append(out, lineOf("from edge "+strconv.Itoa(e.Number)+" of "+n.Name, ps))
	}
	return out
}
