package command_test

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// TestWriteData: YAML has the same values as JSON, and neither sends a terminal what it would obey.
func TestWriteData(t *testing.T) {
	g := NewWithT(t)
	written := func(format string, v any) []byte {
		var b bytes.Buffer
		g.Expect(command.WriteData(&b, format, v)).To(Succeed())
		return b.Bytes()
	}
	v := map[string]any{"cluster": "clusters/blue", "ready": true, "edges": []int{1, 2}, "why": "no: \"quotes\"\nand lines", "version": "1.0"}
	asJSON, err := yaml.YAMLToJSON(written("yaml", v))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asJSON).To(MatchJSON(written("json", v)))
	g.Expect(string(written("yaml", v))).To(HavePrefix("---\ncluster: clusters/blue\n"))
	for _, format := range []string{"json", "yaml"} {
		g.Expect(string(written(format, map[string]any{"name": "a\x1b[31m\u202e\u009bz"}))).NotTo(MatchRegexp("[\x1b\u202e\u009b]"), format)
	}
}
