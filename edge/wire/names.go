// Package wire holds the names that the operator and an edge share: object names, labels,
// annotations, container names, sockets and paths. It imports package network and the
// standard library only. It decides nothing about plans.
//
// A name that two programs use is defined here once. A change affects older operators and
// edges, so the commit must describe the upgrade.
package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
)

const (
	// Prefix of every annotation and label key of oooi.
	Prefix = "hostedcluster.densityops.com/"
	// Owner is the value of LabelPartOf and LabelManagedBy, and the field manager of
	// everything that oooi writes.
	Owner = "oooi"

	// PlanConfigMap holds the plan under PlanKey, in each control plane namespace.
	PlanConfigMap = "oooi-plan"
	PlanKey       = "plan.json"

	// PodDNSService is the Service at which pods of the management cluster ask edges.
	PodDNSService = "oooi-dns"

	// ServiceAccount of every edge. Its Role and RoleBinding have the same name.
	ServiceAccount = NameEdge
)

// The longest network names in object names, in characters. A Deployment's name is the
// start of its pods' host names. Multus writes the edge NAD's name into annotations.
const (
	longestInDeployment = 34
	longestInNAD        = 50
)

// EdgeNADName returns the name of the NetworkAttachmentDefinition through which edges join
// n.
func EdgeNADName(n network.Network) string { return "oooi-" + dashed(n, longestInNAD) }

// VIPNADName returns the name of the NetworkAttachmentDefinition of VIPDevice on n. The dot
// keeps it apart from each EdgeNADName.
func VIPNADName(n network.Network) string { return "oooi-vips." + dashed(n, longestInNAD) }

// EdgeDeploymentName returns the name of edge e's Deployment. It is a DNS label.
func EdgeDeploymentName(n network.Network, e network.Edge) string {
	return BudgetName(n) + "-" + strconv.Itoa(e.Number)
}

// ACDDeploymentName returns the name of the Deployment that checks n's addresses for
// conflicts.
func ACDDeploymentName(n network.Network) string {
	return NameACD + "-" + dashed(n, longestInDeployment)
}

// BudgetName returns the name of the PodDisruptionBudget of n's edges.
func BudgetName(n network.Network) string { return NameEdge + "-" + dashed(n, longestInDeployment) }

// dashed returns a network's name as a DNS label of at most length characters. It ends
// with a hash if the name is too long, or if another network could have the same label
// (a.b-c and a-b.c).
func dashed(n network.Network, length int) string {
	plain := strings.ReplaceAll(n.Name, ".", "-")
	a := n.Attachment
	if len(plain) <= length && !strings.Contains(a.Namespace, "-") && !strings.Contains(a.Name, ".") {
		return plain
	}
	sum := sha256.Sum256([]byte(n.Name))
	hash := hex.EncodeToString(sum[:4])
	if limit := length - len(hash) - 1; len(plain) > limit {
		plain = strings.TrimRight(plain[:limit], "-")
	}
	return plain + "-" + hash
}
