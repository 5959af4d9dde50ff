// This file shows what a catalog says about the versions before, and what of a bundle is its version's.

package catalog

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestAtChangesNothingButTheVersion(t *testing.T) {
	g := NewWithT(t)
	original, err := Read(os.DirFS("../../../bundle"))
	g.Expect(err).NotTo(HaveOccurred())

	next, err := original.At("7.8.9")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(next.Version).To(Equal("7.8.9"))
	g.Expect(original.Version).NotTo(Equal("7.8.9"))
	back, err := next.At(original.Version)
	g.Expect(err).NotTo(HaveOccurred())
	for name, text := range original.Files {
		if name == original.serviceVersionPath() {
			var csv struct{ Metadata struct{ Name string } }
			g.Expect(yaml.Unmarshal(next.Files[name], &csv)).To(Succeed())
			g.Expect(csv.Metadata.Name).To(Equal("oooi.v7.8.9"))
			g.Expect(back.Files[name]).To(MatchYAML(text))
			continue
		}
		g.Expect(next.Files[name]).To(Equal(text), name)
	}
}

// TestAVersionUpgradesThoseBefore: a catalog lists one version. Each former one is upgraded to it, although it is not
// in that catalog.
func TestAVersionUpgradesThoseBefore(t *testing.T) {
	channel := Bundle{Name: "oooi", Channel: "candidate", Version: "0.1.2", Replaces: "0.1.1"}.head(true)[1]
	NewWithT(t).Expect(yaml.Marshal(channel)).To(MatchYAML(`{schema: olm.channel, package: oooi, name: candidate,
  entries: [{name: oooi.v0.1.2, replaces: oooi.v0.1.1, skipRange: <0.1.2}]}`))
}
