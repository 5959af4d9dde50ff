// This file holds the labels and annotations of oooi's objects.

package wire

import (
	"maps"
	"strconv"

	"github.com/cldmnky/oooi/network"
)

// Keys of labels.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelNetwork is the network's name, shortened by NetworkLabel.
	LabelNetwork = Prefix + "network"
	// LabelEdge is the edge's number; "0" for the address conflict detection.
	LabelEdge = Prefix + "edge"
	// LabelVM, LabelMAC and LabelAddress of a DHCP lease's object are for people, not for edges. The VM's name is
	// shortened to 63 characters, and the MAC has dashes.
	LabelVM      = Prefix + "vm"
	LabelMAC     = Prefix + "mac"
	LabelAddress = Prefix + "address"
	// LabelNoBackup with the value "true" excludes an object from backups of Velero only: a restored edge would serve
	// without a check of its addresses.
	LabelNoBackup = "velero.io/exclude-from-backup"
)

// Values of LabelName.
const (
	// NameEdge is on the objects of an edge.
	NameEdge = "oooi-edge"
	// NameACD is on the Deployment and the pod of the address conflict detection.
	NameACD = "oooi-acd"
	// NameTry is on the pod of `oooi check --from-network`, which the user creates.
	NameTry = "oooi-try"
	// NameReport is on the Lease that an edge or the ACD pod writes its report to.
	NameReport = "oooi-report"
	// NameDHCP is on the Lease object of a DHCP lease.
	NameDHCP = "dhcp"
)

// Keys of annotations.
const (
	// AnnotationReport of a report Lease holds a reported.EdgeReport.
	AnnotationReport = Prefix + "report"
	// AnnotationTemplate of a Deployment is a hash of the pod that it was applied with.
	AnnotationTemplate = Prefix + "template"
	// AnnotationRelease of an edge's Deployment is a hash of what every edge of one release has in common.
	AnnotationRelease = Prefix + "release"
	// AnnotationNetworkConfig of a pod is network.Attachment.ConfigHash. With another value, the pod must be recreated.
	AnnotationNetworkConfig = Prefix + "network-config"
	// AnnotationClientRoutes of a pod lists the routes to client networks in the edge NAD. With another value, the pod
	// must be recreated.
	AnnotationClientRoutes = Prefix + "client-routes"
	// AnnotationACDAddresses of an ACD pod lists the addresses that it checks.
	AnnotationACDAddresses = Prefix + "acd-addresses"
	// AnnotationVM and AnnotationMAC of a DHCP lease's object are for edges.
	AnnotationVM  = Prefix + "vm"
	AnnotationMAC = Prefix + "mac"

	// AnnotationNetworks of a pod lists its NADs and addresses. Multus reads it.
	AnnotationNetworks = "k8s.v1.cni.cncf.io/networks"
	// AnnotationNetworkStatus of a pod lists its interfaces. Multus writes it.
	AnnotationNetworkStatus = "k8s.v1.cni.cncf.io/network-status"
	// AnnotationResourceName of a NAD names the device plugin resource that its pods must request.
	AnnotationResourceName = "k8s.v1.cni.cncf.io/resourceName"
)

// Written returns the labels of an object that oooi writes: selected, which selectors name, and LabelNoBackup.
func Written(selected map[string]string) map[string]string {
	out := maps.Clone(selected)
	out[LabelNoBackup] = "true"
	return out
}

// OwnedLabels returns labels that every object of oooi has, for its metadata and for selectors.
func OwnedLabels() map[string]string {
	return map[string]string{LabelPartOf: Owner, LabelManagedBy: Owner}
}

// NamedLabels returns OwnedLabels with a value of LabelName.
func NamedLabels(name string) map[string]string {
	out := OwnedLabels()
	out[LabelName] = name
	return out
}

// NetworkLabels returns NamedLabels of an object that belongs to one network.
func NetworkLabels(name string, n network.Network) map[string]string {
	out := NamedLabels(name)
	out[LabelNetwork] = NetworkLabel(n.Name)
	return out
}

// EdgeLabels returns the labels of one edge's Deployment and pod: the selector, so they never change for a network.
func EdgeLabels(n network.Network, e network.Edge) map[string]string {
	out := NetworkLabels(NameEdge, n)
	out[LabelEdge] = strconv.Itoa(e.Number)
	return out
}

// EdgesOf returns a selector for the pods of all edges of n.
func EdgesOf(n network.Network) map[string]string {
	return map[string]string{LabelName: NameEdge, LabelNetwork: NetworkLabel(n.Name)}
}

// NetworkLabel returns the name of a network as a label value, at most 63 characters.
func NetworkLabel(name string) string { return network.Shortened(name, 63) }

// A ReportLease is the Lease object that holds one report. It is not a DHCP lease.
type ReportLease struct {
	Name   string
	Labels map[string]string
	// Edge is the number of the edge. 0: address conflict detection.
	Edge int
}

// EdgeReportLease returns the Lease that edge e of n reports to.
func EdgeReportLease(n network.Network, e network.Edge) ReportLease {
	return reportLease(EdgeDeploymentName(n, e), n, e.Number)
}

// ACDReportLease returns the Lease that the address conflict detection of n reports to.
func ACDReportLease(n network.Network) ReportLease { return reportLease(ACDDeploymentName(n), n, 0) }

func reportLease(deployment string, n network.Network, edge int) ReportLease {
	labels := Written(NetworkLabels(NameReport, n))
	labels[LabelEdge] = strconv.Itoa(edge)
	return ReportLease{Name: NameReport + "." + deployment, Labels: labels, Edge: edge}
}
