// Package wire holds the names that the operator and an edge share: object names, labels,
// annotations, container names, sockets and paths. A name that two programs use is defined here
// once. A change affects older operators and edges, so the commit must describe the upgrade.
package wire

import (
	"strconv"

	"github.com/cldmnky/oooi/network"
)

const (
	// Prefix begins every annotation and label key of oooi.
	Prefix = "hostedcluster.densityops.com/"
	// Owner is the value of LabelPartOf and LabelManagedBy, and the field manager of oooi.
	Owner = "oooi"

	// KubeVirtGroup is KubeVirt's API group.
	KubeVirtGroup = "kubevirt.io"

	// PlanConfigMap holds the plan under PlanKey, in each control plane namespace.
	PlanConfigMap = "oooi-plan"
	PlanKey       = "plan.json"

	// StatusConfigMap holds the operator's Report under StatusKey, next to the plan. Edges do not
	// read it.
	StatusConfigMap = "oooi-status"
	StatusKey       = "status.json"

	// PodDNSService is the Service to which pods of the management cluster send DNS queries for
	// edges.
	PodDNSService = "oooi-dns"

	// AccessObject is the Service that forwards callers to the edges of the first boot network,
	// and the NetworkPolicy that allows these callers. The Services of further networks have
	// AccessServicePrefix.
	AccessObject        = network.AccessObject
	AccessServicePrefix = network.AccessObject + "-"

	// ServiceAccount is the ServiceAccount of every edge. Its Role and RoleBinding have the same
	// name.
	ServiceAccount = NameEdge
)

// The longest network names in object names, in characters. A Deployment's name begins its
// pods' host names. Multus writes the edge NAD's name into annotations.
const (
	longestInDeployment = 34
	longestInNAD        = 50
)

// EdgeNADName returns the name of the NetworkAttachmentDefinition through which edges join n.
func EdgeNADName(n network.Network) string { return "oooi-" + n.Dashed(longestInNAD) }

// VIPNADName returns the name of the NetworkAttachmentDefinition of VIPDevice on n. The dot
// distinguishes it from EdgeNADName.
func VIPNADName(n network.Network) string { return "oooi-vips." + n.Dashed(longestInNAD) }

// EdgeDeploymentName returns the name of edge e's Deployment. It is a DNS label.
func EdgeDeploymentName(n network.Network, e network.Edge) string {
	return BudgetName(n) + "-" + strconv.Itoa(e.Number)
}

// ACDDeploymentName returns the name of the Deployment that checks n's addresses for conflicts.
func ACDDeploymentName(n network.Network) string {
	return NameACD + "-" + n.Dashed(longestInDeployment)
}

// TryNADName returns the name of the NetworkAttachmentDefinition of pod TryPodName.
func TryNADName(n network.Network) string { return NameTry + "." + n.Dashed(longestInNAD) }

// TryPodName returns the name of the pod that tests n as a VM would.
func TryPodName(n network.Network) string { return NameTry + "-" + n.Dashed(longestInDeployment) }

// BudgetName returns the name of the PodDisruptionBudget of n's edges.
func BudgetName(n network.Network) string { return NameEdge + "-" + n.Dashed(longestInDeployment) }
