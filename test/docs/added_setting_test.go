//go:build added

// This file tests what follows from a setting that TestAddedSetting adds.

package docs

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/config/annotations"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/programs"
)

const spare = "spare-ntp-server"

// decided is what is derived of the cluster of story lb-ip with a second NodePool, and where its network's settings are set. The
// setting has these values: on the HostedCluster, on each NodePool, and on the NetworkAttachmentDefinition.
func decided(t *testing.T, ofCluster, ofFirst, ofSecond, ofNAD string) (derive.Decision, map[string]string) {
	t.Helper()
	d := &files.Dump{}
	if err := d.Add(golden.Find(t, "lb-ip").Read(t, "objects.yaml")); err != nil {
		t.Fatal(err)
	}
	o := d.Clusters()[0]
	o.NodePools = append(o.NodePools, *o.NodePools[0].DeepCopy())
	o.NodePools[1].Name = "second"
	set := func(annotations *map[string]string, value string) {
		if *annotations == nil {
			*annotations = map[string]string{}
		}
		if value != "" {
			(*annotations)[settings.Prefix+spare] = value
		}
	}
	set(&o.HostedCluster.Annotations, ofCluster)
	set(&o.NodePools[0].Annotations, ofFirst)
	set(&o.NodePools[1].Annotations, ofSecond)
	set(&o.NetworkAttachmentDefinitions[0].Annotations, ofNAD)
	request, facts := hcp.Translate(o, network.Plan{})
	var sources map[string]string
	if len(request.Networks) > 0 {
		sources = networks.SettingSources(o, request.Networks[0])[request.Networks[0].Attachment.NetworkName()]
	}
	return derive.Derive(request, facts, network.Plan{}, nil), sources
}

// TestSettingThatWasAdded: each place that knows settings knows it.
func TestSettingThatWasAdded(t *testing.T) {
	t.Run("translation", func(t *testing.T) {
		for from, values := range map[string][4]string{
			"annotation " + spare + " on the HostedCluster":               {"192.168.100.9", "", "", ""},
			"annotation " + spare + " on NodePool":                        {"192.168.100.8", "192.168.100.9", "192.168.100.9", ""},
			"annotation " + spare + " on the NetworkAttachmentDefinition": {"", "", "", "192.168.100.9"},
		} {
			g := NewWithT(t)
			decision, sources := decided(t, values[0], values[1], values[2], values[3])
			p, ok := decision.Plan()
			g.Expect(ok).To(BeTrue(), "%v", decision.Problems)
			g.Expect(network.AddressList(p.Networks[0].DHCP.NTPServers)).To(Equal("192.168.100.9"), from)
			g.Expect(sources[spare]).To(HavePrefix(from))
		}
	})
	t.Run("problems", func(t *testing.T) {
		for cause, values := range map[problem.Cause][4]string{
			problem.NodePoolSettingsDiffer: {"", "192.168.100.8", "192.168.100.9", ""},
			problem.NADValueUnused:         {"192.168.100.9", "", "", "192.168.100.8"},
			problem.AnnotationUnreadable:   {"x", "", "", ""},
		} {
			decision, _ := decided(t, values[0], values[1], values[2], values[3])
			NewWithT(t).Expect(decision.Problems).To(ContainElement(And(HaveField("Cause", cause), HaveField("Keys", ContainElement(spare)))))
		}
		misplaced := settings.Check("Service", "git", map[string]string{settings.Prefix + spare: "192.168.100.9"})
		NewWithT(t).Expect(explain.Problem(misplaced[0]).String()).To(ContainSubstring("Set it on one of: HostedCluster, NodePool, NetworkAttachmentDefinition."))
	})
	t.Run("lint", func(t *testing.T) {
		g := NewWithT(t)
		var out bytes.Buffer
		c := plan.NewLint()
		c.SetOut(&out)
		c.SetArgs([]string{"-f", programs.WriteFile(t, t.TempDir(), "pool.yaml", strings.Join([]string{
			"apiVersion: hypershift.openshift.io/v1beta1", "kind: NodePool", "metadata:", "  name: workers", "  namespace: clusters", "  annotations:",
			"    " + settings.Prefix + spare + ": x", "    " + settings.Prefix + "spare-ntp-servr: x", ""}, "\n"))})
		g.Expect(c.Execute()).NotTo(Succeed())
		g.Expect(out.String()).To(And(ContainSubstring(`Annotation `+spare+` of NodePool workers has the invalid value "x".`), ContainSubstring("Did you mean "+spare+"?")))
	})
	t.Run("admission", func(t *testing.T) {
		files := annotations.Files()
		g := NewWithT(t)
		g.Expect(files["config/admission/annotations.yaml"]).To(And(ContainSubstring("spareNtpServer"), ContainSubstring("'"+spare+"' in variables.judged")))
		g.Expect(files["config/admission/annotation_keys.yaml"]).To(ContainSubstring("'" + spare + "': 'HostedCluster, NodePool, NetworkAttachmentDefinition'"))
	})
	t.Run("documentation", func(t *testing.T) {
		row := "| `" + spare + "` | HostedCluster, NodePool, NetworkAttachmentDefinition | no spare server | An NTP server that VMs ask last. | `192.168.100.9` |\n"
		NewWithT(t).Expect(annotationsPage()).To(ContainSubstring(row))
	})
}
