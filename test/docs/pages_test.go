package docs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/golden"
)

// budgets are words that pages may have together, as a user should not have to read more. A page without a budget fails.
var budgets = []struct {
	words int
	pages []string
}{
	{690, []string{"README.md"}},
	{1035, []string{"first-cluster.md"}},
	{1380, []string{"install.md"}},
	{1150, []string{"publish.md"}},
	{575, []string{"ingress.md"}},
	{805, []string{"existing-vlan.md"}},
	{690, []string{"networks.md"}},
	{690, []string{"clients.md"}},
	{1380, []string{"management-access.md"}},
	{1150, []string{"restore.md"}},
	{1035, []string{"gitops.md"}},
	{2875, []string{"troubleshooting.md"}},
	{9200, []string{"annotations.md", "commands.md", "metrics.md", "alerts.md"}},
	{3450, []string{"problems.md"}},
	{1725, []string{"how-it-works.md"}},
	{2875, []string{"security.md"}},
	{10350, []string{"ARCHITECTURE.md", "DEVELOPMENT.md", "decisions.md", "glossary.md", "performance.md", "testbed.md"}},
}

// TestPagesAreShort: no page outgrows its budget of words.
func TestPagesAreShort(t *testing.T) {
	texts := documents(t)
	for _, b := range budgets {
		words := 0
		for _, p := range b.pages {
			words += len(strings.Fields(texts[p]))
			delete(texts, p)
		}
		if words > b.words {
			t.Errorf("%s: %d words, at most %d", strings.Join(b.pages, ", "), words, b.words)
		}
	}
	delete(texts, "index.md")
	for p := range texts {
		t.Errorf("%s has no budget", p)
	}
}

// menu returns the sections of the site's menu, in their order, and the pages of each.
func menu(t *testing.T) (sections []string, pages map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var site struct {
		Nav []any `json:"nav"`
	}
	if err := yaml.Unmarshal(text, &site); err != nil {
		t.Fatal(err)
	}
	pages = map[string][]string{}
	for _, entry := range site.Nav {
		section, ok := entry.(map[string]any)
		if !ok {
			continue // the index itself
		}
		for title, list := range section {
			sections = append(sections, title)
			for _, p := range list.([]any) {
				pages[title] = append(pages[title], p.(string))
			}
		}
	}
	return sections, pages
}

const indexIntroduction = `# oooi

oooi serves DHCP, DNS, time and a proxy on the isolated VLAN of KubeVirt VMs, so that the VMs become nodes of their hosted cluster. One
annotation on the HostedCluster enables it:

    kubectl annotate hostedcluster/blue -n clusters hostedcluster.densityops.com/network=auto

![VMs on an isolated VLAN get addresses, names and time from an edge, and reach their control plane through it. The operator plans the edge from HyperShift's objects.](oooi.svg)

## Answers

| question | where to look |
| --- | --- |
| What does oooi cost? | [Cost and risk](../README.md#cost-and-risk) |
| How do I try it? | [See it work](../README.md#see-it-work) |
| How do I start? | [Your first hosted cluster on a VLAN](first-cluster.md) |
| Which annotations do I need? | [Only one: network](annotations.md#common) |
| How do I publish the API server? Do I need OpenShift's router? | [Publish the control plane](publish.md) |
| The VLAN already has a DHCP server. What do I set? | [An existing VLAN](existing-vlan.md#an-existing-vlan) |
| How do VMs pull images from my registry, or through my HTTP proxy? | [Allowed hosts](networks.md#allowed-hosts), [a mirror on the VLAN](existing-vlan.md#a-mirror-for-images), [through an HTTP proxy](networks.md#through-an-http-proxy) |
| How many VMs and connections does an edge serve? | [Limits](networks.md#limits) |
| How does a bastion outside of the VLAN reach the API server? | [Who reaches what](publish.md#who-reaches-what), or [through the router of the VLAN](clients.md#through-the-router) |
| How does a CI pipeline check annotations? | [Check files in a pipeline](gitops.md#check-files-in-a-pipeline) |
| Which rights does a tenant need? | [Who needs which rights](annotations.md#who-needs-which-rights) |
| Can a tenant or a VM harm others? | [Who can do what](security.md#who-can-do-what) |
| Can nodes boot? | The first command of [Troubleshooting](troubleshooting.md) |
| What happens when the node of an edge is drained? | [Drains and other events](restore.md) |
| What do I do after a restore with Velero? | [Restored from a backup](restore.md#restored-from-a-backup) |
| How do I uninstall oooi, and keep the nodes? | [Keep the edges](install.md#keep-the-edges) |
`

// TestGoldenIndex: docs/index.md has each page of the menu, and then the others, with the title and the first sentence of each.
func TestGoldenIndex(t *testing.T) {
	texts := documents(t)
	sections, pages := menu(t)
	others := slices.Sorted(maps.Keys(texts))
	for _, section := range sections {
		others = slices.DeleteFunc(others, func(p string) bool { return slices.Contains(pages[section], p) })
	}
	others = slices.DeleteFunc(others, func(p string) bool { return p == "README.md" || p == "index.md" })
	const inside = "For contributors"
	pages[inside] = others

	var b strings.Builder
	b.WriteString(indexIntroduction)
	first := regexp.MustCompile(`(?s)^# ([^\n]+)\n\n([^\n].*?[.:])(?:\s|$)`)
	for _, section := range append(sections, inside) {
		fmt.Fprintf(&b, "\n## %s\n\n| page | content |\n| --- | --- |\n", section)
		for _, p := range pages[section] {
			m := first.FindStringSubmatch(texts[p])
			if m == nil {
				t.Fatalf("%s does not begin with a title and a sentence", p)
			}
			fmt.Fprintf(&b, "| [%s](%s) | %s |\n", m[1], p, strings.TrimSuffix(strings.ReplaceAll(m[2], "\n", " "), ":"))
		}
	}
	b.WriteString("\n`make golden` writes this page from `mkdocs.yml`.\n")
	golden.Check(t, filepath.Join(root, "docs", "index.md"), []byte(b.String()))
}
