package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// TestAddressesOfNoNetwork checks that addresses of the HostedCluster which apply to no network are
// named: VMs use the pod network, and their VLAN gives them an address only.
func TestAddressesOfNoNetwork(t *testing.T) {
	for key, c := range map[string]struct{ inside, stray string }{
		"cidr":           {"", "10.9.0.0/24"},
		"gateway":        {"", "10.9.0.1"},
		"edge-addresses": {"10.50.2.2-10.50.2.5", "10.9.0.2-10.9.0.5"},
		"dhcp-range":     {"10.50.2.20-10.50.2.30", "10.9.0.20-10.9.0.30"},
		"dhcp-exclude":   {"10.50.2.20", "10.50.2.20,10.9.0.20"},
		"reservations":   {"02:00:00:00:00:01=10.50.2.20", "02:00:00:00:00:01=10.9.0.20"},
	} {
		t.Run(key, func(t *testing.T) {
			g := NewWithT(t)
			of := func(value string) (found problem.Problems) {
				o := onPodNetwork(t)
				o.HostedCluster.Annotations[settings.Prefix+key] = value
				_, problems := translated(o)
				g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
				for _, p := range problems {
					if p.Reason == problem.AnnotationUnknown {
						found = append(found, p)
					}
				}
				return found
			}
			found := of(c.stray)
			g.Expect(found).To(ConsistOf(And(HaveField("Severity", problem.SeverityWarning), HaveField("Keys", []string{key}))))
			g.Expect(message(found[0])).To(And(ContainSubstring("10.9.0."), ContainSubstring("The annotation has no effect.")))
			if c.inside != "" {
				g.Expect(of(c.inside)).To(BeEmpty())
			}
		})
	}
}

// onPodNetwork returns a cluster whose VMs boot from the pod network, and get an address on a
// VLAN with CIDR 10.50.2.0/24.
func onPodNetwork(t *testing.T) hcp.Objects {
	o := served(t)
	yes := true
	o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = &yes
	o.NetworkAttachmentDefinitions[0].Annotations = map[string]string{settings.Prefix + "cidr": "10.50.2.0/24"}
	return o
}
