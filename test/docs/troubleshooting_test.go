// This file checks docs/troubleshooting.md: it begins with one command, whose answers lead to all causes, and all commands exist.

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

var (
	onPage     = regexp.MustCompile(`\]\(#([a-z0-9-]+)\)`)
	command    = regexp.MustCompile("(?m)^ {4}(\\S.*)$|`((?:oooi|kubectl|virtctl) [^`]+)`")
	reasonLink = regexp.MustCompile(`\[(\w+)\]\(problems\.md#([a-z0-9]+)\)`)
)

// anchor is the fragment of links to s.
func anchor(title string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// readPage returns a page of docs.
func readPage(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "docs", name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(b)
}

// TestTroubleshootingAnswers: the page begins with one command. Each of its three answers leads to causes, and each table of causes is found
// from there.
func TestTroubleshootingAnswers(t *testing.T) {
	g := NewWithT(t)
	page := readPage(t, "troubleshooting.md")
	g.Expect(command.FindStringSubmatch(page)[1]).To(Equal("oooi status clusters/blue"))
	sections := map[string]string{}
	var causes []string
	for i, part := range regexp.MustCompile(`(?m)^##+ `).Split(page, -1)[1:] {
		title, text, _ := strings.Cut(part, "\n")
		g.Expect(sections).NotTo(HaveKey(anchor(title)))
		sections[anchor(title)] = text
		if strings.Contains(text, "| reasons |") {
			causes = append(causes, anchor(title))
		}
		if i == 0 {
			g.Expect(strings.Count(text, "\n| ")).To(Equal(2+3), "three answers")
		}
	}
	reached := map[string]bool{}
	var walk func(to string)
	walk = func(to string) {
		if reached[to] {
			return
		}
		g.Expect(sections).To(HaveKey(to))
		reached[to] = true
		for _, m := range onPage.FindAllStringSubmatch(sections[to], -1) {
			walk(m[1])
		}
	}
	walk("the-answer")
	g.Expect(len(causes)).To(BeNumerically(">", 5))
	for _, c := range causes {
		g.Expect(reached).To(HaveKey(c), "no answer leads to %s", c)
	}
}

// TestTroubleshootingReasons: each reason that can keep nodes from booting is in a cause of the page, and each link to a reason has that
// row as its target.
func TestTroubleshootingReasons(t *testing.T) {
	g := NewWithT(t)
	reasons, named := readPage(t, "problems.md"), map[string]bool{}
	for _, m := range reasonLink.FindAllStringSubmatch(readPage(t, "troubleshooting.md"), -1) {
		named[m[1]] = true
		g.Expect(m[2]).To(Equal(strings.ToLower(m[1])))
		g.Expect(reasons).To(ContainSubstring(reasonAnchor(m[1])))
	}
	for _, c := range problem.Catalogue() {
		if c.Severity == problem.SeverityError || c.Severity == problem.SeverityWaiting {
			g.Expect(named[string(c.Reason)]).To(BeTrue(), "%s: nodes may not boot, and no cause of troubleshooting.md has the reason", c.Reason)
		}
	}
}

// TestTroubleshootingCommands: each command of the page exists, with its flags, kinds, labels and containers.
func TestTroubleshootingCommands(t *testing.T) {
	g := NewWithT(t)
	commands := readPage(t, "commands.md")
	found := map[string]int{}
	for _, m := range command.FindAllStringSubmatch(readPage(t, "troubleshooting.md"), -1) {
		typed := m[1] + m[2]
		words := strings.Fields(typed)
		found[words[0]]++
		switch words[0] {
		case "oooi":
			g.Expect(commandOf(commands, words[1:])).To(Succeed(), typed)
		case "kubectl":
			g.Expect(kubectlOf(words[1:])).To(Succeed(), typed)
		case "oc":
			// A test of `oooi must-gather` runs it.
		case "virtctl":
			g.Expect(words[1]).To(Equal("console"), typed)
		default:
			t.Errorf("%s: it is not known whether this command exists", typed)
		}
	}
	g.Expect(found["oooi"]).To(BeNumerically(">", 10))
	g.Expect(found["kubectl"]).To(BeNumerically(">", 10))
}

// commandOf checks the words after oooi against the page of all commands.
func commandOf(page string, words []string) error {
	_, section, ok := strings.Cut(page, "\n## oooi "+words[0]+"\n")
	if !ok {
		return fmt.Errorf("there is no command %s", words[0])
	}
	section, _, _ = strings.Cut(section, "\n## ")
	_, shared, _ := strings.Cut(page, "\n## Shared flags\n")
	shared, _, _ = strings.Cut(shared, "\n## ")
	section += shared
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") && !regexp.MustCompile(`(?m)^ +(?:-\w, )?`+regexp.QuoteMeta(w)+`[ ,]`).MatchString(section) {
			return fmt.Errorf("oooi %s has no flag %s", words[0], w)
		}
	}
	return nil
}

// kubectlOf checks the words after kubectl: verbs that read, kinds that oooi works with, and what selects its pods.
func kubectlOf(words []string) error {
	kinds := []string{"csr", "endpointslices", "events", "hostedcluster", "leases", "machines", "net-attach-def", "nodepools", "pods", "routes", "services", "vmi"}
	switch words[0] {
	case "get":
		for _, kind := range strings.Split(words[1], ",") {
			if !slices.Contains(kinds, kind) {
				return fmt.Errorf("the kind %s is not known", kind)
			}
		}
	case "auth":
		if words[1] != "can-i" || !slices.Contains(kinds, words[3]) {
			return fmt.Errorf("want auth can-i VERB KIND")
		}
	case "logs":
	default:
		return fmt.Errorf("the verb %s is not known", words[0])
	}
	for i := 1; i < len(words); i++ {
		word, value := words[i], ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		allowed := map[string][]string{
			"-n": {"clusters", "clusters-blue", "oooi-system"}, "-o": {"yaml", "wide"}, "--kubeconfig": {"blue.kubeconfig"},
			"-l": {wire.LabelName + "=" + wire.NameEdge, wire.LabelName + "=" + wire.Owner},
			"-c": {string(network.ServiceDHCP), string(network.ServiceDNS), string(network.ServiceNTP), string(network.ServiceProxy), wire.Failover, wire.Envoy, wire.Access},
		}[word]
		switch {
		case !strings.HasPrefix(word, "-"), word == "--tail=-1" && words[0] == "logs", word == "-A":
		case !slices.Contains(allowed, value):
			return fmt.Errorf("%s %s is not known", word, value)
		}
	}
	return nil
}
