package nad_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp/nad"
)

// hashOf returns what identifies a configuration.
func hashOf(t *testing.T, config string, nodes nad.Nodes) string {
	t.Helper()
	a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", ResourceName: "x/y", Config: config}, nodes)
	NewWithT(t).Expect(fault).To(BeNil(), config)
	return a.ConfigHash
}

// TestHarmlessEdits: fields of a NAD that edges do not use do not identify it, nor do the nodes.
func TestHarmlessEdits(t *testing.T) {
	const config = `{"cniVersion":"0.3.1","name":"n","type":"bridge","bridge":"br1","vlan":100,"mtu":1400}`
	was := hashOf(t, config, nad.Nodes{})
	for name, edited := range map[string]string{
		"formatting, order": "{\n \"vlan\": 100.0, \"mtu\": 1400,\n \"bridge\": \"br1\", \"type\": \"bridge\" }",
		"case of keys":      `{"type":"bridge","Bridge":"br1","vlan":100,"mtu":1400}`,
		"name and version":  `{"cniVersion":"1.0.0","name":"other","type":"bridge","bridge":"br1","vlan":100,"mtu":1400}`,
		"unknown keys":      `{"type":"bridge","bridge":"br1","vlan":100,"mtu":1400,"description":"x","ipMasq":true,"args":{"a":1}}`,
		"a list":            `{"plugins":[{"type":"bridge","bridge":"br1","vlan":100,"mtu":1400}]}`,
		"other plugins":     `{"plugins":[{"type":"bridge","bridge":"br1","vlan":100,"mtu":1400},{"type":"portmap"},{"type":"firewall"}]}`,
		"no IPAM":           `{"type":"bridge","bridge":"br1","vlan":100,"mtu":1400,"ipam":{}}`,
	} {
		NewWithT(t).Expect(hashOf(t, edited, nad.Nodes{})).To(Equal(was), name)
	}
	NewWithT(t).Expect(hashOf(t, config, nad.Nodes{ForwardByDefault: true})).To(Equal(was), "a node with another container runtime")
	for name, edited := range map[string]string{
		"VLAN":        `{"type":"bridge","bridge":"br1","vlan":200,"mtu":1400}`,
		"bridge":      `{"type":"bridge","bridge":"br2","vlan":100,"mtu":1400}`,
		"MTU":         `{"type":"bridge","bridge":"br1","vlan":100,"mtu":9000}`,
		"type":        `{"type":"cnv-bridge","bridge":"br1","vlan":100,"mtu":1400}`,
		"macspoofchk": `{"type":"bridge","bridge":"br1","vlan":100,"mtu":1400,"macspoofchk":true}`,
		"bandwidth":   `{"plugins":[{"type":"bridge","bridge":"br1","vlan":100,"mtu":1400},{"type":"bandwidth","ingressRate":1000}]}`,
		"localnet":    `{"name":"n","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100","vlanID":100,"mtu":1400}`,
	} {
		NewWithT(t).Expect(derive.SameConfig(hashOf(t, edited, nad.Nodes{}), was)).To(BeFalse(), name)
	}
}

// TestConfigVersion: a release of oooi whose edges use more or fewer fields of a NAD must increase configVersion. Otherwise a new operator
// would treat all NADs as changed, and recreate the edges of all hosted clusters at the same time.
func TestConfigVersion(t *testing.T) {
	var all string
	for _, config := range append(everyNAD(t), layer2, strings.Replace(layer2, "layer2", "localnet", 1)) {
		all += hashOf(t, config, nad.Nodes{}) + " "
	}
	NewWithT(t).Expect(all).To(Equal("2-0370503fc9649a40 2-d1df48f72dedf3ae 2-35ad554340ce1925 2-f2d66127b5957372 2-6af1894f48e337d6 2-4ab077e44c6a6980 "), "edges take something else now: count configVersion up, then change this line")
}
