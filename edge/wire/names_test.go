package wire

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
			EdgeReportLease(n, network.Edge{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}), EdgeReportLease(n, network.Edge{Number: 2}), ACDReportLease(n),
		} {
			g.Expect(seen[l.Name]).To(BeFalse(), l.Name)
			seen[l.Name] = true
			g.Expect(validation.IsDNS1123Subdomain(l.Name)).To(BeEmpty())
			g.Expect(labels.SelectorFromSet(OwnedLabels()).Matches(labels.Set(l.Labels))).To(BeTrue())
			g.Expect(l.Labels).To(And(HaveKeyWithValue(LabelName, "oooi-report"), HaveKeyWithValue("velero.io/exclude-from-backup", "true")))
			for _, v := range l.Labels {
				g.Expect(validation.IsValidLabelValue(v)).To(BeEmpty())
			}
		}
	}
	n := network.Network{Name: "clusters.vlan100", Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100"}}
	g.Expect(EdgeReportLease(n, network.Edge{Number: 1}).Name).To(Equal("oooi-report." + EdgeDeploymentName(n, network.Edge{Number: 1})))
	g.Expect(ACDReportLease(n).Labels).To(HaveKeyWithValue(LabelEdge, "0"))
}

// TestNamesAreShortAndTheirOwn: no two networks share an object name, and every name is valid.
func TestNamesAreShortAndTheirOwn(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 60)
	seen := map[string]string{}
	for _, a := range []network.Attachment{
		{Namespace: "clusters", Name: "vlan100"}, {Namespace: "clusters", Name: "vlan.100"}, {Namespace: "clusters", Name: "vlan-100"},
		{Namespace: "a", Name: "b-c"}, {Namespace: "a-b", Name: "c"}, {Namespace: "a", Name: "b.c"},
		{Namespace: long, Name: long}, {Namespace: long, Name: long + "y"},
	} {
		n := network.Network{Name: a.Namespace + "." + a.Name, Attachment: a}
		for _, name := range []string{EdgeDeploymentName(n, network.Edge{Number: 1}), EdgeDeploymentName(n, network.Edge{Number: 2}), EdgeNADName(n)} {
			g.Expect(validation.IsDNS1123Label(name)).To(BeEmpty(), name)
			g.Expect(seen).NotTo(HaveKey(name))
			seen[name] = n.Name
		}
		g.Expect(validation.IsDNS1123Subdomain(VIPNADName(n))).To(BeEmpty())
		g.Expect(seen).NotTo(HaveKey(VIPNADName(n)))
		seen[VIPNADName(n)] = n.Name
		g.Expect(len(EdgeDeploymentName(n, network.Edge{Number: 1}))).To(BeNumerically("<=", 47), "room for what a pod's name gets behind it")
		g.Expect(validation.IsValidLabelValue(NetworkLabel(n.Name))).To(BeEmpty())
	}
	g.Expect(seen).To(HaveKey("oooi-edge-clusters-vlan100-1"))
}
