// This file decides what `oooi check` says about what was read. It is pure. What the operator would refuse is decided by the
// operator's own plan, and never here.

package check

import (
	"fmt"
	"slices"
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
)

// checkVersion is the version of the checks as JSON. Fields are only added within a version.
const checkVersion = "v1"

// A checkReport is `oooi check -o json`: a promise to scripts.
type checkReport struct {
	Version string   `json:"version"`
	Groups  []checks `json:"groups"`
}

// Checks are lines about one thing.
type checks struct {
	Title  string    `json:"title"`
	Checks []checked `json:"checks"`
}

// A checked is one line.
type checked struct {
	Name    string  `json:"name"`
	Verdict outcome `json:"verdict"`
	// Why is empty if the verdict is ok. It has the fix.
	Why string `json:"why,omitempty"`
	// Page has the fix in full. Empty: there is none.
	Page string `json:"page,omitempty"`
	// aside: if it is unknown, that does not decide the exit code.
	aside bool
}

// An outcome is what a check found.
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

// A neededKind is one that oooi reads.
type neededKind struct {
	kind schema.GroupVersionKind
	// of is what has it, and absent what is missing without it.
	of, absent string
	// optional: it is not a failure without.
	optional bool
	err      error
}

// neededKinds are read in each management cluster.
func neededKinds() []neededKind {
	return []neededKind{
		{kind: hcp.NewHostedCluster().GroupVersionKind(), of: "HyperShift", absent: "Install HyperShift or multicluster engine first."},
		{kind: hcp.NodePoolKind(), of: "HyperShift", absent: "Install HyperShift or multicluster engine first."},
		{kind: hcp.NADKind(), of: "Multus", absent: "Install Multus: it attaches edges and VMs to networks."},
		{kind: source.KindOf(wire.KubeVirtGroup, "v1", "VirtualMachineInstance"), of: "KubeVirt", absent: "Install KubeVirt or OpenShift Virtualization: nodes run in its VMs. If the API server has other names for its kinds, set --api-rules. If it is set, compare the rules with kubectl api-resources."},
		{kind: source.KindOf("route.openshift.io", "v1", "Route"), of: "OpenShift", absent: "Routes are unavailable. Publish the control plane by load balancers or node ports.", optional: true},
	}
}

// An installation is what was read of what all hosted clusters share.
type installation struct {
	kinds                         []neededKind
	operators, policies, bindings []unstructured.Unstructured
	operatorsErr, policiesErr     error
}

// installationChecks checks f.
func installationChecks(f installation) checks {
	out := checks{Title: "Installation"}
	for _, k := range f.kinds {
		c := checked{Name: k.kind.Kind + "s of " + k.of, Verdict: fine}
		switch {
		case meta.IsNoMatchError(k.err) && k.optional:
			c.Why = "The cluster has none. " + k.absent
		case meta.IsNoMatchError(k.err):
			c.Verdict, c.Why, c.Page = failure, "The cluster does not have this kind. "+k.absent, command.Docs+"install.md"
		case k.err != nil && !apierrors.IsForbidden(k.err): // Without a right, the kind is there.
			c.Verdict, c.Why = unsure, k.err.Error()+"."
		}
		out.Checks = append(out.Checks, c)
	}
	out.Checks = append(out.Checks, operatorCheck(f))
	if d, ok := f.operator(); ok {
		out.Checks = append(out.Checks, imagesCheck(d))
	}
	return checks{out.Title, append(out.Checks, policyCheck(f))}
}

func operatorCheck(f installation) checked {
	c := checked{Name: "operator", Verdict: fine}
	page := command.Docs + "install.md"
	switch {
	case f.operatorsErr != nil:
		c.Verdict, c.Why = unsure, f.operatorsErr.Error()+"."
		return c
	case len(f.operators) == 0:
		c.Verdict, c.Why, c.Page = failure, "No Deployment has the label app.kubernetes.io/name=oooi. Install oooi.", page
		return c
	case len(f.operators) > 1:
		c.Verdict, c.Why, c.Page = warning, fmt.Sprintf("There are %d Deployments of it. Remove all but one.", len(f.operators)), page
		return c
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.operators[0].Object, &d); err != nil {
		c.Verdict, c.Why = unsure, err.Error()+"."
		return c
	}
	if d.Status.AvailableReplicas == 0 {
		c.Verdict, c.Page = failure, page
		c.Why = fmt.Sprintf("Deployment %s/%s has no available pod. Edges keep serving, but no change takes effect. Look at its pods and their logs.", d.Namespace, d.Name)
	}
	return c
}

// policyCheck: a policy without a binding refuses nothing.
func policyCheck(f installation) checked {
	c := checked{Name: "admission policies", Verdict: fine}
	if f.policiesErr != nil {
		c.Verdict, c.Why = unsure, f.policiesErr.Error()+"."
		return c
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
		c.Verdict, c.Why, c.Page = warning, "There are none. Invalid annotations are found only after the write, and a stolen token can do more. Apply config/admission.", command.Docs+"security.md"
	case len(loose) > 0:
		c.Verdict, c.Why, c.Page = warning, "These have no binding, so they refuse nothing: "+strings.Join(loose, ", ")+". Apply config/admission.", command.Docs+"security.md"
	}
	return c
}

// clusterFacts are what was read of one hosted cluster.
type clusterFacts struct {
	name string
	// planned is what the operator would decide now. Nil: nothing, since the cluster has not opted in or cannot be read.
	planned *plan.Planned
	status  status.Report
	// read and optedIn are about the HostedCluster.
	read, optedIn bool
	// partial: other hosted clusters are not known.
	partial bool
	// unread is what the plan lacks.
	unread []string
	preflight
}

// clusterChecks checks f.
func clusterChecks(f clusterFacts) checks {
	out := checks{Title: "HostedCluster " + f.name}
	add := func(name string, v outcome, why, page string) {
		out.Checks = append(out.Checks, checked{Name: name, Verdict: v, Why: why, Page: page})
	}
	if f.read && !f.optedIn {
		add("opted in", warning, "It does not have the annotation "+settings.Prefix+network.KeyNetwork+", so oooi serves nothing. Set it to auto.", command.Docs+"annotations.md")
		return out
	}
	for _, u := range append(f.unread, f.status.Unread...) {
		add("what is read", unsure, strings.TrimSuffix(u, ".")+".", "")
	}
	if f.partial {
		out.Checks = append(out.Checks, checked{Name: "other hosted clusters", Verdict: unsure, aside: true, Page: command.Docs + "check.md#rights",
			Why: "You have no right to list HostedClusters, so conflicts with others are not found."})
	}
	current := f.status.Condition != nil && f.status.Condition.Current.Answer == explain.Yes
	if f.planned != nil {
		out.Checks = append(out.Checks, planChecks(*f.planned, len(f.unread) > 0)...)
	}
	out.Checks = append(out.Checks, preflightChecks(f.preflight)...)
	if f.status.Condition == nil {
		add("running", unsure, "The operator has not reported about this cluster.", "")
		return out
	}
	if !current {
		add("operator's report", warning, f.status.Condition.Current.Why, "")
	}
	switch f.status.Boot.Answer {
	case explain.Yes:
		add("nodes boot", fine, "", "")
	case explain.No:
		add("nodes boot", failure, f.status.Boot.Why, command.Docs+"problems.md")
	default:
		add("nodes boot", unsure, f.status.Boot.Why, command.Docs+"problems.md")
	}
	for _, p := range f.status.Problems {
		v, counts := verdictOf(p.Severity)
		if p.Reason == problem.Paused { // It serves, and a change has no effect.
			v, counts = warning, true
		}
		if counts && current && !f.plans(p.Reason) {
			add(string(p.Reason), v, p.Text, p.Page)
		}
	}
	for _, n := range f.status.Networks {
		out.Checks = append(append(out.Checks, networkChecks(n)...), edgeChecks(n)...)
	}
	return out
}

// plans reports whether the current plan has a problem with a reason, so that a line has it already.
func (f clusterFacts) plans(r problem.Reason) bool {
	return f.planned != nil && f.planned.Problems.Has(r)
}

// planChecks are the problems of the plan that the operator would make now.
func planChecks(p plan.Planned, partial bool) (out []checked) {
	for _, x := range explain.JSON(p.Problems) {
		v, counts := verdictOf(x.Severity)
		if !counts {
			continue
		}
		if partial && v == failure {
			v = unsure // An object that could not be read may be the one that is missing.
		}
		out = append(out, checked{Name: string(x.Reason), Verdict: v, Why: x.Detail, Page: command.ProblemsPage + "#" + strings.ToLower(string(x.Reason))})
	}
	if len(out) == 0 {
		out = append(out, checked{Name: "plan", Verdict: fine})
	}
	return out
}

// verdictOf is what a problem of a severity means. Others are no findings: HyperShift publishes what a plan waits for.
func verdictOf(s problem.Severity) (v outcome, counts bool) {
	switch s {
	case problem.SeverityError:
		return failure, true
	case problem.SeverityWarning:
		return warning, true
	}
	return fine, false
}

// whyNotReady says what is known of the edges that are not ready, as further sentences.
func whyNotReady(n status.Network) (out string) {
	for _, e := range n.Edges {
		if e.NotServing != "" {
			out += fmt.Sprintf(" Edge %d: %s.", e.Number, strings.TrimSuffix(e.NotServing, "."))
		}
	}
	return out
}

// networkChecks checks the edges and the backends of a network that is served.
func networkChecks(n status.Network) (out []checked) {
	ready := 0
	for _, e := range n.Edges {
		if e.Ready == explain.Yes {
			ready++
		}
	}
	c := checked{Name: fmt.Sprintf("edges of %s", n.Name), Verdict: fine}
	switch {
	case len(n.Edges) == 0 || n.Edges[0].Ready == explain.Unknown:
		c.Verdict, c.Why = unsure, "It is not known which are ready."
	case ready == 0:
		c.Verdict, c.Why, c.Page = failure, "None is ready."+whyNotReady(n), command.Docs+"alerts.md#oooinoedge"
	case ready < len(n.Edges):
		c.Verdict, c.Why, c.Page = warning, fmt.Sprintf("%d of %d are ready.", ready, len(n.Edges))+whyNotReady(n), command.ProblemsPage+"#edgeunavailable"
	}
	out = append(out, c)
	if n.Primary && !slices.Contains(n.Services, network.ServiceDHCP) && len(n.Services) > 0 {
		out = append(out, checked{Name: "DHCP of " + n.Name, Verdict: warning, Page: command.Docs + "annotations.md#values",
			Why: "Edges run no DHCP server (annotation services). VMs boot only if another DHCP server provides addresses, routes and DNS servers."})
	}
	for _, t := range append(append([]status.Target{}, n.Endpoints...), n.Hosts...) {
		switch t.Health {
		case status.NoFault, string(explain.Unknown):
		case status.NoEndpoint:
			c := checked{Name: "backend " + t.Backend, Verdict: warning, Why: "It has no ready pod.", Page: command.ProblemsPage + "#edgeimpaired"}
			if t.Needed {
				c.Verdict, c.Why = failure, c.Why+" Nodes need it."
			}
			out = append(out, c)
		default:
			out = append(out, checked{Name: "backend " + t.Backend, Verdict: warning, Why: t.Health + "."})
		}
	}
	return out
}
