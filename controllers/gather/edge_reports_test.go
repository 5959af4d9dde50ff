package gather

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	now := time.Now()
	lease := func(name, report string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: second,
			Labels: map[string]string{wire.LabelName: name, wire.LabelNetwork: "clusters.vlan100"}, Annotations: map[string]string{wire.AnnotationReport: report}}}
	}
	renewed := func(report reported.EdgeReport, ago time.Duration) *coordinationv1.Lease {
		o := lease(wire.NameReport, string(report.JSON()))
		o.Spec.RenewTime = new(metav1.NewMicroTime(now.Add(-ago)))
		return o
	}
	slow := reported.EdgeReport{Edge: 2, Degraded: reported.Degradation{Cause: problem.FailoverTargetsAnswered}}
	unset := reported.EdgeReport{Edge: 2, ClockUnsynchronized: reported.ClockFault{Cause: problem.ClockNotSet}}
	former, first := lease(wire.NameReport, string(slow.JSON())), lease(wire.NameReport, string(slow.JSON()))
	former.Name, first.Name = "oooi-report.oooi-former-clusters-vlan100-2", wire.EdgeReportLease(n, n.Edges[0]).Name
	NewWithT(t).Expect(reportsOf([]client.Object{
		lease("dhcp", string(slow.JSON())), lease(wire.NameReport, "{"), lease(wire.NameReport, ""), former, first,
		lease(wire.NameReport, string(slow.JSON())), renewed(slow, 5*time.Minute+time.Second), renewed(slow, 5*time.Minute), renewed(unset, time.Hour),
	}, network.Plan{Networks: []network.Network{n}}, now)).To(Equal([]NetworkReport{
		{Network: "clusters.vlan100", EdgeReport: slow}, {Network: "clusters.vlan100", EdgeReport: slow}, {Network: "clusters.vlan100", EdgeReport: unset},
	}), "an old report counts as none, unless the clock of its edge is not set")
}
