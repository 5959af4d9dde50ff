package hcp_test

import (
	"cmp"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network/problem"
)

// TestPatchedMAC: a patch gives its MAC to each VM of a NodePool. One VM has it alone, except while an update replaces it.
func TestPatchedMAC(t *testing.T) {
	const at = "/spec/template/spec/domain/devices/interfaces"
	for name, c := range map[string]struct {
		patch     string
		replicas  int32
		ofCluster bool
		want      []string
		of        problem.Cause // default: MACPatched
		surge     *int
	}{
		"two VMs":                  {patch: `{"op":"add","path":"` + at + `/0/macAddress","value":"02:00:00:00:00:0A"}`, replicas: 2, want: []string{"blue"}},
		"a whole interface":        {patch: `{"op":"replace","path":"` + at + `/0","value":{"name":"a","macAddress":"02:00:00:00:00:0a"}}`, replicas: 2, want: []string{"blue"}},
		"all interfaces":           {patch: `{"op":"add","path":"` + at + `","value":[{"name":"a"},{"name":"b","macAddress":"02:00:00:00:00:0a"}]}`, replicas: 2, want: []string{"blue"}},
		"one VM":                   {patch: `{"op":"add","path":"` + at + `/0/macAddress","value":"02:00:00:00:00:0a"}`, replicas: 1, want: []string{"blue"}, of: problem.MACPatchedForUpdates},
		"one VM, and no surge":     {patch: `{"op":"add","path":"` + at + `/0/macAddress","value":"02:00:00:00:00:0a"}`, replicas: 1, surge: new(int)},
		"no VM":                    {patch: `{"op":"add","path":"` + at + `/0/macAddress","value":"02:00:00:00:00:0a"}`, replicas: 0},
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
				if c.surge != nil {
					none := intstr.FromInt(*c.surge)
					o.NodePools[i].Spec.Management = hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace, Replace: &hyperv1.ReplaceUpgrade{RollingUpdate: &hyperv1.RollingUpdate{MaxSurge: &none}}}
				}
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
			found := causesOf(ps, problem.MACPatched, problem.MACPatchedForUpdates)
			if c.want == nil {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveExactElements(And(HaveField("Cause", cmp.Or(c.of, problem.MACPatched)), HaveField("Args", And(HaveKeyWithValue("nodePools", problem.Values(c.want)), HaveKeyWithValue("mac", problem.Values{"02:00:00:00:00:0a"}))))))
		})
	}
}

// patching is a change: HyperShift patches VMs of all NodePools, or of the first one.
func patching(ofAll bool, text string) change {
	return func(o *hcp.Objects) {
		if ofAll {
			o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = text
			return
		}
		if o.NodePools[0].Annotations == nil {
			o.NodePools[0].Annotations = map[string]string{}
		}
		o.NodePools[0].Annotations[hyperv1.JSONPatchAnnotation] = text
	}
}

// TestRefusedPatches: HyperShift creates no VMs if it cannot apply a patch.
func TestRefusedPatches(t *testing.T) {
	const cpu, first = "/spec/template/spec/domain/cpu", "/spec/template/spec/domain/devices/interfaces/0"
	for name, c := range map[string]struct {
		ofAll, own string
		want       string
	}{
		"an added model":                        {own: `[{"op":"add","path":"` + cpu + `/model","value":"host-model"}]`},
		"a replaced model":                      {own: `[{"op":"replace","path":"` + cpu + `/model","value":"host-model"}]`, want: "is missing"},
		"a replaced model, added before":        {ofAll: `[{"op":"add","path":"` + cpu + `/model","value":"a"}]`, own: `[{"op":"replace","path":"` + cpu + `/model","value":"b"}]`},
		"a model in a CPU added before":         {own: `[{"op":"add","path":"` + cpu + `","value":{"model":"a"}},{"op":"remove","path":"` + cpu + `/model"}]`},
		"replaced cores":                        {own: `[{"op":"replace","path":"` + cpu + `/cores","value":8}]`},
		"a MAC that is not there":               {own: `[{"op":"replace","path":"` + first + `/macAddress","value":"02:00:00:00:00:0a"}]`, want: "is missing"},
		"a replaced interface":                  {own: `[{"op":"replace","path":"` + first + `","value":{}}]`},
		"a removed binding":                     {own: `[{"op":"remove","path":"` + first + `/bridge"}]`},
		"another field, which is not known":     {own: `[{"op":"replace","path":"/spec/template/spec/evictionStrategy","value":"None"}]`},
		"an unknown op":                         {own: `[{"op":"insert","path":"` + cpu + `/model","value":"a"}]`, want: "unknown op"},
		"no JSON":                               {own: `add cpu`, want: "invalid character"},
		"no list":                               {own: `{"op":"add"}`, want: "cannot unmarshal"},
		"an empty text":                         {own: ``, want: "unexpected end"},
		"an empty list":                         {own: `[]`},
		"an invalid patch of the whole cluster": {ofAll: `[`, own: `[]`, want: "unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			patching(false, c.own)(&o)
			if c.ofAll != "" {
				patching(true, c.ofAll)(&o)
			}
			_, ps := plan(o)
			found := causesOf(ps, problem.NodePoolPatchRefused)
			if c.want == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveLen(1))
			g.Expect(message(found[0])).To(ContainSubstring(c.want))
		})
	}
}

// TestPatchedPlacement: edges run where VMs run, after HyperShift patched their selector. It patches their affinity, too, which is only reported.
func TestPatchedPlacement(t *testing.T) {
	const at = "/spec/template/spec/nodeSelector"
	vlan, zone := map[string]string{"vlan": "yes"}, map[string]string{"example.com/zone": "a"}
	selects := func(o *hcp.Objects) { o.NodePools[0].Spec.Platform.Kubevirt.NodeSelector = zone }
	affinity := patching(false, `[{"op":"add","path":"/spec/template/spec/affinity/nodeAffinity","value":{}}]`)
	second := func(o *hcp.Objects) { // on the same network, without a selector
		o.NodePools = append(o.NodePools, another(*o, "zero", false))
		o.NodePools[1].Spec.Platform.Kubevirt.NodeSelector = nil
	}
	for name, c := range map[string]struct {
		given []change
		want  []map[string]string
		hint  bool
	}{
		"no selector":                  {nil, nil, false},
		"a selector":                   {[]change{selects}, []map[string]string{zone}, false},
		"a patch sets it":              {[]change{patching(false, `[{"op":"add","path":"`+at+`","value":{"vlan":"yes"}}]`)}, []map[string]string{vlan}, false},
		"a patch replaces it":          {[]change{selects, patching(true, `[{"op":"replace","path":"`+at+`","value":{"vlan":"yes"}}]`)}, []map[string]string{vlan}, false},
		"a patch adds a label":         {[]change{patching(false, `[{"op":"add","path":"`+at+`/example.com~1zone","value":"a"}]`)}, []map[string]string{zone}, false},
		"a patch removes a label":      {[]change{selects, patching(false, `[{"op":"remove","path":"`+at+`/example.com~1zone"}]`)}, nil, false},
		"a patch removes it":           {[]change{selects, patching(false, `[{"op":"remove","path":"`+at+`"}]`)}, nil, false},
		"a patch of another type":      {[]change{selects, patching(false, `[{"op":"add","path":"`+at+`","value":7}]`)}, nil, false},
		"null, and a label":            {[]change{patching(false, `[{"op":"add","path":"`+at+`","value":null},{"op":"add","path":"`+at+`/vlan","value":"yes"}]`)}, []map[string]string{vlan}, false},
		"a patch of the affinity":      {[]change{selects, affinity}, []map[string]string{zone}, true},
		"the affinity, and a selector": {[]change{affinity, annotated("edge-node-selector", "vlan=yes")}, []map[string]string{vlan}, false},
		"a patch of the anti-affinity": {[]change{patching(false, `[{"op":"replace","path":"/spec/template/spec/affinity","value":{"podAntiAffinity":{}}}]`)}, nil, false},
		"a second NodePool":            {[]change{selects, second}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.Permissions.NodeLabels = []string{"vlan"}
			for _, change := range c.given {
				change(&o)
			}
			p, ps := plan(o)
			g.Expect(ps.Blocking()).To(BeFalse(), "%v", ps)
			g.Expect(p.Networks[0].Placement.NodeSelectors).To(Equal(c.want))
			g.Expect(causesOf(ps, problem.VMPlacementPatched)).To(HaveLen(map[bool]int{true: 1}[c.hint]))
		})
	}
}
