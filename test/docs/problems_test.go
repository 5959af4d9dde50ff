// This file writes docs/problems.md: the text of testdata/problems.md, with a row for each reason of the catalogue.

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

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/explain/meaning"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

const reasonsMark, trueReasonsMark = "<!-- reasons -->\n", "<!-- reasons of True -->\n"

// TestGoldenProblems: the page has a row for each reason.
func TestGoldenProblems(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "problems.md"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join(root, "docs", "problems.md"), []byte(problemsPage(string(text))))
}

// TestEveryReasonIsExplained: docs/problems.md has one row for each reason of the catalogue, with the anchor that programs and pages
// link to, and none for another.
func TestEveryReasonIsExplained(t *testing.T) {
	g := NewWithT(t)
	var explained []problem.Reason
	for _, m := range regexp.MustCompile("(?m)^\\| (<a id=\\S+</a>)`(\\w+)` \\| \\S.* \\| \\S.* \\|$").FindAllStringSubmatch(readPage(t, "problems.md"), -1) {
		explained = append(explained, problem.Reason(m[2]))
		g.Expect(m[1]).To(Equal(reasonAnchor(m[2])))
	}
	g.Expect(explained).To(ConsistOf(slices.Collect(maps.Keys(severitiesOf()))))
}

// problemsPage returns text with the reasons of a condition that is True, and those of problems.
func problemsPage(text string) string {
	var whenTrue, rows strings.Builder
	for _, r := range explain.TrueReasons() {
		fmt.Fprintf(&whenTrue, "| True | `%s` | %s | 0 |\n", r.Reason, r.Meaning)
	}
	all := severitiesOf()
	for _, r := range slices.SortedFunc(maps.Keys(all), func(a, b problem.Reason) int {
		return strings.Compare(strings.ToLower(string(a)), strings.ToLower(string(b)))
	}) {
		about := meaning.Of(r)
		fmt.Fprintf(&rows, "| %s`%s` | %s | %s", reasonAnchor(string(r)), r, strings.Join(all[r], ", "), strings.ReplaceAll(about.Text, "*", `\*`))
		if about.Page != "" {
			fmt.Fprintf(&rows, " See [%s](%[1]s).", about.Page)
		}
		rows.WriteString(" |\n")
	}
	return strings.NewReplacer(trueReasonsMark, whenTrue.String(), reasonsMark, rows.String()).Replace(text)
}

// reasonAnchor is the target of links to r: GitHub and mkdocs keep the element in a table.
func reasonAnchor(r string) string { return `<a id="` + strings.ToLower(r) + `"></a>` }

// severitiesOf returns the severities that causes of each reason have, the highest first.
func severitiesOf() map[problem.Reason][]string {
	entries, out := problem.Catalogue(), map[problem.Reason][]string{}
	slices.SortStableFunc(entries, func(a, b problem.Entry) int { return a.Severity.Compare(b.Severity) })
	for _, e := range entries {
		if s := string(e.Severity); !slices.Contains(out[e.Reason], s) {
			out[e.Reason] = append(out[e.Reason], s)
		}
	}
	return out
}
