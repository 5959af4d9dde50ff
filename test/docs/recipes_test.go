// This file plans what the pages of tasks tell users to set.

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
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

var (
	annotateCommand = regexp.MustCompile(`(?m)^    kubectl annotate hostedcluster (?:.*\\\n)*.*`)
	annotationSet   = regexp.MustCompile(regexp.QuoteMeta(settings.Prefix) + `([a-z-]+)=(\S+)`)
	settingInTable  = regexp.MustCompile("`([a-z-]+)=([^`]+)`")
)

// TestRecipes: a hosted cluster with the annotations of a recipe, as commands and tables have them, is planned without an
// Error, and no annotation is without effect.
func TestRecipes(t *testing.T) {
	for page, least := range map[string]int{"existing-vlan.md": 13, "ingress.md": 1, "networks.md": 1} {
		t.Run(page, func(t *testing.T) { testRecipes(t, page, least) })
	}
}

// testRecipes plans the recipes of docs/NAME, which are at least so many.
func testRecipes(t *testing.T, name string, least int) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", name))
	g.Expect(err).NotTo(HaveOccurred())
	known := map[string]bool{}
	for _, k := range settings.Keys() {
		known[k.Name] = true
	}
	var recipes []map[string]string
	for _, command := range annotateCommand.FindAllString(string(page), -1) {
		recipe := map[string]string{}
		for _, a := range annotationSet.FindAllStringSubmatch(command, -1) {
			recipe[a[1]] = a[2]
		}
		g.Expect(recipe).NotTo(BeEmpty(), command)
		recipes = append(recipes, recipe)
	}
	for line := range strings.Lines(string(page)) {
		recipe := map[string]string{}
		for _, a := range settingInTable.FindAllStringSubmatch(line, -1) {
			if known[a[1]] && a[1] != network.KeyPublish {
				recipe[a[1]] = a[2]
			}
		}
		if strings.HasPrefix(line, "|") && len(recipe) > 0 {
			recipes = append(recipes, recipe)
		}
	}
	g.Expect(len(recipes)).To(BeNumerically(">=", least))
	for _, recipe := range recipes {
		d := planned(t, recipe)
		_, ok := d.Plan()
		g.Expect(ok).To(BeTrue(), "%v: %v", recipe, d.Problems)
		for _, reason := range []problem.Reason{problem.AnnotationInvalid, problem.AnnotationUnknown} {
			for _, p := range d.Problems {
				g.Expect(p.Reason).NotTo(Equal(reason), "%v: %v", recipe, p)
			}
		}
	}
}

// TestRecipeOfAnExistingVLAN: its edges, its pool and its reservation are those of the page.
func TestRecipeOfAnExistingVLAN(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "existing-vlan.md"))
	g.Expect(err).NotTo(HaveOccurred())
	recipe := map[string]string{}
	for _, a := range annotationSet.FindAllStringSubmatch(annotateCommand.FindString(string(page)), -1) {
		recipe[a[1]] = a[2]
	}
	plan, ok := planned(t, recipe).Plan()
	g.Expect(ok).To(BeTrue())
	n := plan.Networks[0]
	g.Expect(n.NextHopVIP.String() + "-" + n.Edges[len(n.Edges)-1].Address.String()).To(HavePrefix("192.168.100.240-192.168.100.24"))
	g.Expect(n.DHCP.Range.String()).To(Equal(recipe["dhcp-range"]))
	g.Expect(n.DHCP.Exclude).To(HaveLen(1))
	g.Expect(n.DHCP.Reservations).To(HaveLen(1))
}

// planned is the decision about the cluster of story lb-ip with these annotations.
func planned(t *testing.T, annotations map[string]string) derive.Decision {
	t.Helper()
	o := storyObjects(t, "lb-ip")
	for key, value := range annotations {
		o.HostedCluster.Annotations[settings.Prefix+key] = value
	}
	request, facts := hcp.Translate(o, network.Plan{})
	return derive.Derive(request, facts, network.Plan{}, nil)
}
