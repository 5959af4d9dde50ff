package controllers

import (
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
)

// TestReportLease: each edge of each network reports in an object of its own, that
// is ours by its labels and no DHCP lease, however long names are.
func TestReportLease(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, name := range []string{"vlan100", strings.Repeat("long-", 40) + "name", strings.Repeat("long-", 40) + "other"} {
		n := network.Network{Name: "clusters." + name, Attachment: network.Attachment{Namespace: "clusters", Name: name}}
		for _, l := range []ReportLease{
			EdgeReport(n, network.Edge{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}), EdgeReport(n, network.Edge{Number: 2}), AskReport(n),
		} {
			g.Expect(seen[l.Name]).To(BeFalse(), l.Name)
			seen[l.Name] = true
			g.Expect(validation.IsDNS1123Subdomain(l.Name)).To(BeEmpty())
			g.Expect(labels.SelectorFromSet(ownedLabels()).Matches(labels.Set(l.Labels))).To(BeTrue())
			g.Expect(l.Labels).To(HaveKeyWithValue(labelName, "oooi-report"))
			for _, v := range l.Labels {
				g.Expect(validation.IsValidLabelValue(v)).To(BeEmpty())
			}
		}
	}
	n := network.Network{Name: "clusters.vlan100", Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100"}}
	g.Expect(EdgeReport(n, network.Edge{Number: 1}).Name).To(Equal("oooi-report." + edgeName(n, network.Edge{Number: 1})))
	g.Expect(AskReport(n).Labels).To(HaveKeyWithValue(labelEdge, "0"))
}
