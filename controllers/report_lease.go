// This file decides where an edge keeps its report: a Lease, since those it may
// write. It never reads or writes one.

package controllers

import (
	"maps"
	"strconv"

	"github.com/cldmnky/oooi/network"
)

// A ReportLease is the Lease that holds one report, which is no DHCP lease.
type ReportLease struct {
	Name   string
	Labels map[string]string
	// Annotation is the key that the report stands under.
	Annotation string
}

// EdgeReport is where edge e of n reports.
func EdgeReport(n network.Network, e network.Edge) ReportLease {
	return reportLease(edgeName(n, e), n, e.Number)
}

// AskReport is where the pod reports that asks whether n's addresses are free.
func AskReport(n network.Network) ReportLease { return reportLease(askName(n), n, 0) }

func reportLease(deployment string, n network.Network, edge int) ReportLease {
	labels := maps.Clone(networkLabels(nameReport, n))
	labels[labelEdge] = strconv.Itoa(edge)
	return ReportLease{Name: nameReport + "." + deployment, Labels: labels, Annotation: reportAnnotation}
}
