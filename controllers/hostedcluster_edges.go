// This file decides what is said of edges that do not serve: a network is served
// while one of its edges is. It is pure.

package controllers

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/network"
)

// notServed is a sentence for each edge of a network that no edge serves.
func notServed(o outcome) []string {
	var out []string
	for _, d := range o.edges {
		if isEdge(d) && !isServed(o, d.Labels[labelNetwork]) {
			out = append(out, fmt.Sprintf("Edge %s does not serve: %s. %s", d.Name, why(d), itsPods(d)))
		}
	}
	return out
}

// limits are the edges that do not serve while their sibling does.
func limits(p network.Plan, o outcome) network.Problems {
	var out network.Problems
	for _, d := range o.edges {
		if isEdge(d) && !available(d) && isServed(o, d.Labels[labelNetwork]) {
			out = append(out, network.Problem{Detail: fmt.Sprintf("edge %s does not serve: %s; if the other fails, machines lose %s. %s",
				d.Name, why(d), lost(p, d.Labels[labelNetwork]), itsPods(d))})
		}
	}
	return out
}

// unanswered is a sentence for each network whose addresses are asked for.
func unanswered(p network.Plan, o outcome) []string {
	var out []string
	for _, d := range o.edges {
		if !isAsk(d) {
			continue
		}
		what := d.Labels[labelNetwork]
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
		return isEdge(d) && d.Labels[labelNetwork] == label && available(d)
	})
}

func why(d appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return "its pod is refused: " + c.Message
		}
	}
	return "its pod is not ready"
}

func itsPods(d appsv1.Deployment) string {
	return fmt.Sprintf("Its pods: kubectl -n %s describe pod -l %s=%s.", d.Namespace, labelNetwork, d.Labels[labelNetwork])
}

// lost is what machines have by the network with this label.
func lost(p network.Plan, label string) string {
	if n, ok := networkLabelled(p, label); ok {
		return enumerated(n.Services)
	}
	return "what it serves"
}

func networkLabelled(p network.Plan, label string) (network.Network, bool) {
	i := slices.IndexFunc(p.Networks, func(n network.Network) bool { return networkLabel(n) == label })
	if i < 0 {
		return network.Network{}, false
	}
	return p.Networks[i], true
}
