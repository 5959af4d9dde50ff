// This file checks that docs/troubleshooting.md is a tree: it begins with one command, each question leads on, each cause
// has a command and a fix, and all commands exist.

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

const (
	firstCommand = "oooi status clusters/blue"
	// mostAnswers is how many answers a question has.
	mostAnswers = 3
)

var (
	answer       = regexp.MustCompile(`(?m)^- .+: \[[^\]]+\]\(#([a-z0-9-]+)\)$`)
	indentedLine = regexp.MustCompile(`(?m)^ {4}(\S.*)$`)
	reasonLink   = regexp.MustCompile(`\[(\w+)\]\(problems\.md#([a-z0-9]+)\)`)
	alertLink    = regexp.MustCompile(`\[(\w+)\]\(alerts\.md#([a-z0-9]+)\)`)
)

// A step is a section of the page: a question, if its title has a question mark, or else a cause.
type step struct{ title, text string }

func (s step) asks() bool { return strings.HasSuffix(s.title, "?") }

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

// stepsOf returns the sections of a page, in its order.
func stepsOf(page string) (out []step) {
	page, _, _ = strings.Cut(page, "\n## Ask for help")
	for _, part := range strings.Split(page, "\n### ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		out = append(out, step{title, text})
	}
	return out
}

// TestTroubleshootingIsATree: from one command, at most three answers at a time lead to each cause.
func TestTroubleshootingIsATree(t *testing.T) {
	g := NewWithT(t)
	page := readPage(t, "troubleshooting.md")
	g.Expect(indentedLine.FindStringSubmatch(page)[1]).To(Equal(firstCommand))
	steps := stepsOf(page)
	at := map[string]step{}
	for _, s := range steps {
		g.Expect(at).NotTo(HaveKey(anchor(s.title)))
		at[anchor(s.title)] = s
	}
	reached, way := map[string]bool{}, []string{}
	var walk func(to string)
	walk = func(to string) {
		s, ok := at[to]
		g.Expect(ok).To(BeTrue(), "%s leads to %s, which is no section", strings.Join(way, " > "), to)
		g.Expect(way).NotTo(ContainElement(to), "a circle")
		reached[to] = true
		if !s.asks() {
			return
		}
		way = append(way, to)
		answers := answer.FindAllStringSubmatch(s.text, -1)
		g.Expect(len(answers)).To(And(BeNumerically(">=", 2), BeNumerically("<=", mostAnswers)), s.title)
		g.Expect(strings.Count(s.text, "\n- ")).To(Equal(len(answers)), "%s: each answer leads to one section", s.title)
		for _, a := range answers {
			walk(a[1])
		}
		way = way[:len(way)-1]
	}
	walk(anchor(steps[0].title))
	for _, s := range steps {
		g.Expect(reached[anchor(s.title)]).To(BeTrue(), "no answer leads to %s", s.title)
		if s.asks() {
			continue
		}
		parts := regexp.MustCompile(`(?s)^\n\*\*Cause:\*\* \S.*\n\n\*\*Confirm:\*\*\n\n((?:    \S[^\n]*\n)+)\n\*\*Fix:\*\* \S.*\n\n\*\*Reasons:\*\* \S.*$`)
		g.Expect(s.text).To(MatchRegexp(parts.String()), "%s: cause, command, fix and reasons", s.title)
	}
}

// TestTroubleshootingReasons: each reason has a cause of the page or a row of problems.md, and each link to a reason or an alert
// has that row or section as its target.
func TestTroubleshootingReasons(t *testing.T) {
	g := NewWithT(t)
	page, reasons, alerts := readPage(t, "troubleshooting.md"), readPage(t, "problems.md"), readPage(t, "alerts.md")
	named := map[string]bool{}
	for _, s := range stepsOf(page) {
		for _, m := range reasonLink.FindAllStringSubmatch(s.text, -1) {
			named[m[1]] = true
			g.Expect(m[2]).To(Equal(strings.ToLower(m[1])), s.title)
			g.Expect(reasons).To(ContainSubstring(reasonAnchor(m[1])))
		}
		for _, m := range alertLink.FindAllStringSubmatch(s.text, -1) {
			g.Expect(m[2]).To(Equal(strings.ToLower(m[1])), s.title)
			g.Expect(alerts).To(ContainSubstring("\n## " + m[1] + "\n"))
		}
	}
	for _, c := range problem.Catalogue() {
		explained := named[string(c.Reason)] || strings.Contains(reasons, reasonAnchor(string(c.Reason)))
		g.Expect(explained).To(BeTrue(), "%s is in no cause of troubleshooting.md and not in problems.md", c.Reason)
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
	for _, m := range indentedLine.FindAllStringSubmatch(readPage(t, "troubleshooting.md"), -1) {
		words := strings.Fields(m[1])
		found[words[0]]++
		switch words[0] {
		case "oooi":
			g.Expect(commandOf(commands, words[1:])).To(Succeed(), m[1])
		case "kubectl":
			g.Expect(kubectlOf(words[1:])).To(Succeed(), m[1])
		case "virtctl":
			g.Expect(words[1]).To(Equal("console"), m[1])
		default:
			t.Errorf("%s: it is not known whether this command exists", m[1])
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
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") && !regexp.MustCompile(`(?m)^ +(?:-\w, )?`+regexp.QuoteMeta(w)+` `).MatchString(section) {
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
