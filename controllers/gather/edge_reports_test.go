package gather

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestReports are read from Leases that are not DHCP leases, and only where an edge
// could have written them.
func TestReports(t *testing.T) {
	n := network.Network{Name: "clusters.vlan100", Edges: []network.Edge{{Number: 1}, {Number: 2}}}
	second := wire.EdgeReportLease(n, n.Edges[1]).Name
	lease := func(name, report string) metav1.PartialObjectMetadata {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: second,
			Labels: map[string]string{wire.LabelName: name, wire.LabelNetwork: "clusters.vlan100"}, Annotations: map[string]string{wire.AnnotationReport: report}}}
		o.SetGroupVersionKind(own.LeaseKind)
		return o
	}
	slow := reported.EdgeReport{Edge: 2, Degraded: reported.Degradation{Cause: problem.FailoverTargetsAnswered}}
	other := lease(wire.NameReport, string(slow.JSON()))
	other.SetGroupVersionKind(own.DeploymentKind)
	former, first := lease(wire.NameReport, string(slow.JSON())), lease(wire.NameReport, string(slow.JSON()))
	former.Name, first.Name = "oooi-report.oooi-former-clusters-vlan100-2", wire.EdgeReportLease(n, n.Edges[0]).Name
	NewWithT(t).Expect(reportsOf([]metav1.PartialObjectMetadata{
		lease("dhcp", string(slow.JSON())), lease(wire.NameReport, "{"), lease(wire.NameReport, ""), other, former, first,
		lease(wire.NameReport, string(slow.JSON())),
	}, network.Plan{Networks: []network.Network{n}})).To(Equal([]NetworkReport{{Network: "clusters.vlan100", EdgeReport: slow}}))
}
