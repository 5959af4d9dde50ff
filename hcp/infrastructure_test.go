package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestInfrastructure: credentials for VMs are for another cluster, unless the user declares that they are for this one. In that case the
// VMs are where edges look for them, and the cluster is served as without credentials.
func TestInfrastructure(t *testing.T) {
	plain, _ := hcp.Translate(served(t), network.Plan{})
	for name, c := range map[string]struct {
		annotation, namespace string
		cause                 problem.Cause // empty: served
	}{
		"nothing said":      {"", "clusters-blue", problem.VMsOnOtherCluster},
		"external":          {"external", "clusters-blue", problem.VMsOnOtherCluster},
		"no such word":      {"there", "clusters-blue", problem.VMsOnOtherCluster},
		"here":              {"here", "clusters-blue", ""},
		"another namespace": {"here", "vms-blue", problem.VMsInOtherNamespace},
		"no namespace":      {"here", "", problem.VMsInOtherNamespace},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.Platform.Kubevirt.Credentials = &hyperv1.KubevirtPlatformCredentials{InfraNamespace: c.namespace}
			if c.annotation != "" {
				o.HostedCluster.Annotations[settings.Prefix+"infrastructure"] = c.annotation
			}
			r, f := hcp.Translate(o, network.Plan{})
			if c.cause == "" {
				g.Expect(f.Problems.Blocking()).To(BeFalse())
				g.Expect(r).To(Equal(plain))
				return
			}
			g.Expect(f.Problems).To(ConsistOf(And(HaveField("Cause", c.cause), HaveField("Reason", problem.ExternalInfrastructure))))
			g.Expect(f.Problems[0].Keys).To(ContainElement("infrastructure"))
			g.Expect(r.Networks).To(BeEmpty())
		})
	}
}
