// This file tries what docs/create-cluster.md tells users to apply for the ingress of a hosted cluster.

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

// TestDocumentedIngress: with the Service of the page, *.apps of a cluster that it creates reaches the VMs.
func TestDocumentedIngress(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "create-cluster.md"))
	g.Expect(err).NotTo(HaveOccurred())
	block := regexp.MustCompile("`apps.yaml`[^\n]*\n\n((?:    .*\n)+)").FindSubmatch(page)
	g.Expect(block).NotTo(BeNil())
	service := strings.ReplaceAll("\n"+string(block[1]), "\n    ", "\n")

	var world []byte
	for _, s := range golden.Stories(t) {
		if s.Name == "lb-ip" {
			world = s.Read(t, "objects.yaml")
		}
	}
	for text, leads := range map[string]string{"": "", service: "vms:32443"} {
		d := &files.Dump{}
		g.Expect(d.Add(world)).To(Succeed())
		g.Expect(d.Add([]byte(text))).To(Succeed())
		request, facts := hcp.Translate(d.Clusters()[0], network.Plan{})
		decision := derive.Derive(request, facts, network.Plan{}, nil)
		plan, ok := decision.Plan()
		g.Expect(ok).To(BeTrue())
		var found string
		for _, l := range plan.Networks[0].Listeners {
			for _, f := range l.Forwards {
				if f.ServerNames[0] == "*.apps.blue.example.com" {
					found = f.Backend
				}
			}
		}
		g.Expect(found).To(Equal(leads))
		g.Expect(decision.Problems.Has(problem.AppsUnreachable)).To(Equal(leads == ""))
	}
}
