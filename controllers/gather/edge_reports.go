// This file reads what edges report.

package gather

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// A NetworkReport is the report of one edge, or of the address conflict detection.
type NetworkReport struct {
	// Network is the value of the network's label (wire.NetworkLabel).
	Network string
	reported.EdgeReport
}

// reportsOf returns the reports of the edges of p and of its address conflict detection, each from its own Lease. It
// ignores other Leases, and reports that cannot be read.
func reportsOf(owned []metav1.PartialObjectMetadata, p network.Plan) []NetworkReport {
	type writer struct {
		network string
		edge    int
	}
	writers := map[string]writer{}
	for _, n := range p.Networks {
		writers[wire.ACDReportLease(n).Name] = writer{wire.NetworkLabel(n.Name), 0}
		for _, e := range n.Edges {
			writers[wire.EdgeReportLease(n, e).Name] = writer{wire.NetworkLabel(n.Name), e.Number}
		}
	}
	var out []NetworkReport
	for _, o := range owned {
		by, known := writers[o.Name]
		if !known || o.GroupVersionKind() != own.LeaseKind || o.Labels[wire.LabelName] != wire.NameReport {
			continue
		}
		if r, err := reported.Read([]byte(o.Annotations[wire.AnnotationReport])); err == nil && r.Edge == by.edge {
			out = append(out, NetworkReport{Network: by.network, EdgeReport: r})
		}
	}
	return out
}
