package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// TestRenderedNodePoolIsYoungest: a NodePool that does not exist yet does not get the CIDR of the HostedCluster if the network of an
// existing NodePool has it.
func TestRenderedNodePoolIsYoungest(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	alone, _ := translated(o)
	addNodePool(&o, "a-new-one", "200").CreationTimestamp = metav1.Time{}
	both, problems := translated(o)
	g.Expect(both.Networks[0]).To(Equal(alone.Networks[0]))
	g.Expect(both.Networks[1].CIDR.IsValid()).To(BeFalse())
	g.Expect(hints(problems)).To(BeEmpty(), "the creation time decides")
}

// hints returns the problems which say that names decided.
func hints(all problem.Problems) (out problem.Problems) {
	for _, p := range all {
		if p.Cause == problem.NetworkCIDRByName {
			out = append(out, p)
		}
	}
	return out
}

// TestNamesDecideBetweenNodePools: if the names of NodePools decide, a hint reports it until the user decides.
func TestNamesDecideBetweenNodePools(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	addNodePool(&o, "zz", "200").CreationTimestamp = o.NodePools[0].CreationTimestamp
	for _, timestamp := range []metav1.Time{o.NodePools[0].CreationTimestamp, {}} {
		for i := range o.NodePools {
			o.NodePools[i].CreationTimestamp = timestamp
		}
		_, problems := translated(o)
		found := hints(problems)
		g.Expect(found).To(ConsistOf(HaveField("Severity", problem.SeverityInfo)))
		g.Expect(message(found[0])).To(And(ContainSubstring("192.168.100.0/24"), ContainSubstring("NodePool "+o.NodePools[0].Name+" comes before zz")))
	}
	for _, np := range o.NodePools {
		o.HostedCluster.Annotations[settings.Prefix+"cidr."+np.Name] = "10.0." + map[bool]string{true: "1", false: "2"}[np.Name == "zz"] + ".0/24"
	}
	_, problems := translated(o)
	g.Expect(hints(problems)).To(BeEmpty())
}
