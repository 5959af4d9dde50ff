package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/network/problem"
)

// TestPatchedMAC: a patch gives its MAC to each VM of a NodePool. With one VM, that is no problem.
func TestPatchedMAC(t *testing.T) {
	const at = "/spec/template/spec/domain/devices/interfaces"
	for name, c := range map[string]struct {
		patch     string
		replicas  int32
		ofCluster bool
		want      []string
	}{
		"two VMs":                  {patch: `{"op":"add","path":"` + at + `/0/macAddress","value":"02:00:00:00:00:0A"}`, replicas: 2, want: []string{"blue"}},
		"a whole interface":        {patch: `{"op":"replace","path":"` + at + `/0","value":{"name":"a","macAddress":"02:00:00:00:00:0a"}}`, replicas: 2, want: []string{"blue"}},
		"all interfaces":           {patch: `{"op":"add","path":"` + at + `","value":[{"name":"a"},{"name":"b","macAddress":"02:00:00:00:00:0a"}]}`, replicas: 2, want: []string{"blue"}},
		"one VM":                   {patch: `{"op":"add","path":"` + at + `/0/macAddress","value":"02:00:00:00:00:0a"}`, replicas: 1},
		"one VM of each NodePool":  {patch: `{"op":"add","path":"` + at + `/0/macAddress","value":"02:00:00:00:00:0a"}`, replicas: 1, ofCluster: true, want: []string{"blue", "green"}},
		"no MAC":                   {patch: `{"op":"add","path":"` + at + `/0/model","value":"e1000"}`, replicas: 2},
		"it is removed":            {patch: `{"op":"remove","path":"` + at + `/0/macAddress"}`, replicas: 2},
		"a patch with other types": {patch: `{"op":"add","path":"` + at + `/0","value":7},{"op":"add","path":"` + at + `/0/macAddress","value":[]}`, replicas: 2},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			secondPool(&o, false)
			o.VMs = nil
			for i := range o.NodePools {
				o.NodePools[i].Spec.Replicas = &c.replicas
			}
			of := o.NodePools[0].Annotations
			if of == nil {
				of = map[string]string{}
				o.NodePools[0].Annotations = of
			}
			if c.ofCluster {
				of = o.HostedCluster.Annotations
			}
			of[hyperv1.JSONPatchAnnotation] = "[" + c.patch + "]"
			_, ps := plan(o)
			found := causesOf(ps, problem.MACPatched)
			if c.want == nil {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveExactElements(HaveField("Args", And(HaveKeyWithValue("nodePools", problem.Values(c.want)), HaveKeyWithValue("mac", problem.Values{"02:00:00:00:00:0a"})))))
		})
	}
}
