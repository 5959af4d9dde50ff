// This file decides what is said of edges that do not serve: a network is served
// while one of its edges is. It is pure.

package controllers

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// notServed is a sentence for each edge of a network that no edge serves.
func notServed(o outcome) []string {
	var out []string
	for _, d := range o.edges {
		if isEdge(d) && !isServed(o, d.Labels[wire.LabelNetwork]) {
			out = append(out, fmt.Sprintf("Edge %s does not serve: %s. %s", d.Name, why(d), itsPods(d)))
		}
	}
	return out
}

// limits are the edges that do not serve while their sibling does.
func limits(d decision, o outcome) network.Problems {
	var out network.Problems
	for _, e := range o.edges {
		if label := e.Labels[wire.LabelNetwork]; isEdge(e) && !available(e) && isServed(o, label) {
			out = append(out, network.Problem{Detail: fmt.Sprintf("edge %s does not serve: %s; if the other fails, machines lose %s. %s%s",
				e.Name, why(e), lost(d.plan, label), itsPods(e), notWaitedFor(d, o, e))})
		}
	}
	return out
}

// notWaitedFor says what becomes of the sibling of an edge that does not serve for
// long, and what to do.
func notWaitedFor(d decision, o outcome, late appsv1.Deployment) string {
	if !d.late[late.Name] {
		return ""
	}
	text := fmt.Sprintf(" So it is for more than %d minutes, and meanwhile nothing keeps the other from being drained.", int(waitedFor.Minutes()))
	for _, e := range o.edges {
		if d.held[e.Name] && e.Labels[wire.LabelNetwork] == late.Labels[wire.LabelNetwork] && e.Name != late.Name {
			text += fmt.Sprintf(" Edge %s keeps its former version until this one serves; to have it made anew all the same, delete its Deployment.", e.Name)
		}
	}
	return text + " Where no second node can take an edge, set the annotation edges to 1, or edge-node-selector to nodes that can."
}

// unanswered is a sentence for each network whose addresses are asked for.
func unanswered(p network.Plan, o outcome) []string {
	var out []string
	for _, d := range o.edges {
		if !isAsk(d) {
			continue
		}
		what := d.Labels[wire.LabelNetwork]
		if n, ok := networkLabelled(p, what); ok {
			what = n.Attachment.String()
		}
		out = append(out, fmt.Sprintf("Network %s is not served yet: Deployment %s looks whether the addresses are free, and edges are made then; %s. %s", what, d.Name, why(d), itsPods(d)))
	}
	return out
}

// isServed says whether an edge serves the network with this label.
func isServed(o outcome, label string) bool {
	return slices.ContainsFunc(o.edges, func(d appsv1.Deployment) bool {
		return isEdge(d) && d.Labels[wire.LabelNetwork] == label && available(d)
	})
}

// why says what is known of a Deployment without an available pod.
func why(d appsv1.Deployment) string {
	if c := conditionOf(d, appsv1.DeploymentReplicaFailure); c.Status == corev1.ConditionTrue {
		return "its pod is refused: " + c.Message
	}
	if isEnding(d) {
		return "its former pod has not ended yet (where its node is lost, remove the Node, or taint it node.kubernetes.io/out-of-service:NoExecute)"
	}
	return "its pod is not ready"
}

// isEnding says whether d has no pod since a former one must end first. Not every
// cluster counts those.
func isEnding(d appsv1.Deployment) bool {
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.Replicas > 0 {
		return false
	}
	if s.TerminatingReplicas != nil {
		return *s.TerminatingReplicas > 0
	}
	return isComplete(conditionOf(d, appsv1.DeploymentProgressing))
}

func itsPods(d appsv1.Deployment) string {
	return fmt.Sprintf("Its pods: kubectl -n %s describe pod -l %s=%s.", d.Namespace, wire.LabelNetwork, d.Labels[wire.LabelNetwork])
}

// lost is what machines have by the network with this label.
func lost(p network.Plan, label string) string {
	if n, ok := networkLabelled(p, label); ok {
		return enumerated(n.Services)
	}
	return "what it serves"
}

func networkLabelled(p network.Plan, label string) (network.Network, bool) {
	i := slices.IndexFunc(p.Networks, func(n network.Network) bool { return wire.NetworkLabel(n.Name) == label })
	if i < 0 {
		return network.Network{}, false
	}
	return p.Networks[i], true
}
