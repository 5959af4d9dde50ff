// This file decides what our objects are called and how they are labelled. It
// never reads anything.

package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Names that other programs rely on.
const (
	// FieldOwner is the one field manager of everything we write.
	FieldOwner = "oooi"
	// ConditionType is our condition in the HostedCluster's status.
	ConditionType = settings.Prefix + "NetworkReady"
	// PlanConfigMap holds the plan under PlanKey, in each control plane namespace.
	PlanConfigMap = "oooi-plan"
	PlanKey       = "plan.json"
	// EdgeRole is the shipped ClusterRole of an edge; the RoleBinding and the
	// ServiceAccount of edges have its name too.
	EdgeRole = "oooi-edge"
	// ControlPlaneRole is the shipped ClusterRole that holds what the operator
	// writes in a control plane namespace; the RoleBinding has its name too.
	ControlPlaneRole = "oooi-controlplane"

	labelName      = "app.kubernetes.io/name"
	labelPartOf    = "app.kubernetes.io/part-of"
	labelManagedBy = "app.kubernetes.io/managed-by"
	labelNetwork   = settings.Prefix + "network"
	labelEdge      = settings.Prefix + "edge"

	// nameEdge, nameAsk and nameReport are values of labelName: of an edge, of the
	// pod that asks before there is one, and of the Lease that either writes its
	// report to, which is no DHCP lease.
	nameEdge   = "oooi-edge"
	nameAsk    = "oooi-ask"
	nameReport = "oooi-report"

	// reportAnnotation of such a Lease holds a network.Report.
	reportAnnotation = settings.Prefix + "report"
	// templateAnnotation of a Deployment is a hash of the pod it was applied with.
	templateAnnotation = settings.Prefix + "template"

	ours = "oooi"
)

// ownedLabels are on every object of ours, and on the leases that edges write.
func ownedLabels() labels.Set { return labels.Set{labelPartOf: ours, labelManagedBy: ours} }

// edgeLabels are on the Deployment and the pod of one edge, and are the
// Deployment's selector, so they never change for a network.
func edgeLabels(n network.Network, e network.Edge) map[string]string {
	return labels.Merge(networkLabels(nameEdge, n), labels.Set{labelEdge: strconv.Itoa(e.Number)})
}

// edgesOf select the pods of all edges of n.
func edgesOf(n network.Network) map[string]string {
	return map[string]string{labelName: nameEdge, labelNetwork: networkLabel(n)}
}

func networkLabels(name string, n network.Network) map[string]string {
	return labels.Merge(plainLabels(name), labels.Set{labelNetwork: networkLabel(n)})
}

func plainLabels(name string) map[string]string {
	return labels.Merge(ownedLabels(), labels.Set{labelName: name})
}

// networkLabel is a network's name as a label value holds it.
func networkLabel(n network.Network) string { return network.Shortened(n.Name, 63) }

// siblingName is the name of the definition by which edges join n. Its length
// is bounded by what Multus writes into annotations, not by a label.
func siblingName(n network.Network) string { return "oooi-" + dashed(n, 50) }

// edgeName is a DNS label, as it becomes the beginning of the pod's host name.
func edgeName(n network.Network, e network.Edge) string {
	return "oooi-edge-" + dashed(n, 34) + "-" + strconv.Itoa(e.Number)
}

// askName is the Deployment that asks whether n's addresses are free.
func askName(n network.Network) string { return "oooi-ask-" + dashed(n, 34) }

// budgetName is the PodDisruptionBudget over the edges of n.
func budgetName(n network.Network) string { return "oooi-edge-" + dashed(n, 34) }

// dashed is a network's name as a DNS label of at most length characters. Where
// another network could have the same one (a.b-c and a-b.c), or it is too long,
// it ends with a hash.
func dashed(n network.Network, length int) string {
	plain := strings.ReplaceAll(n.Name, ".", "-")
	a := n.Attachment
	if len(plain) <= length && !strings.Contains(a.Namespace, "-") && !strings.Contains(a.Name, ".") {
		return plain
	}
	sum := sha256.Sum256([]byte(n.Name))
	hash := hex.EncodeToString(sum[:4])
	if room := length - len(hash) - 1; len(plain) > room {
		plain = strings.TrimRight(plain[:room], "-")
	}
	return plain + "-" + hash
}

// clusterName is "namespace/name", as logs and metrics show it.
func clusterName(hc *hyperv1.HostedCluster) string { return hc.Namespace + "/" + hc.Name }
