// This file writes docs/problems.md: the text of testdata/problems.md, and below each
// reason a table of its causes with their messages.

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

const causesMark, reasonsMark = "<!-- causes -->\n", "<!-- reasons of True -->\n"

var section = regexp.MustCompile(`(?m)^## (\w+)$`)

// TestGoldenProblems: the page has all causes and their messages.
func TestGoldenProblems(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "problems.md"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join(root, "docs", "problems.md"), []byte(problemsPage(string(text))))
}

// TestEveryCauseIsListed: the section of each reason lists its causes, each once, with a
// message.
func TestEveryCauseIsListed(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docs", "problems.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, heads := string(b), section.FindAllStringSubmatchIndex(string(b), -1)
	texts := map[string]string{}
	for i, h := range heads {
		end := len(page)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		texts[page[h[2]:h[3]]] = page[h[0]:end]
	}
	for _, c := range problem.Catalogue() {
		row := regexp.MustCompile("(?m)^\\| `" + string(c.Cause) + "` \\| `" + string(c.Severity) + "` \\| \\S.* \\| \\S.* \\|$")
		if n := len(row.FindAllString(texts[string(c.Reason)], -1)); n != 1 {
			t.Errorf("docs/problems.md lists cause %s %d times below %s", c.Cause, n, c.Reason)
		}
		if n := strings.Count(page, "\n| `"+string(c.Cause)+"` |"); n != 1 {
			t.Errorf("docs/problems.md lists cause %s %d times", c.Cause, n)
		}
	}
	if braces := regexp.MustCompile(`\{\w+\}`).FindString(section.ReplaceAllString(strings.Join(rowsOf(page), "\n"), "")); braces != "" {
		t.Errorf("docs/problems.md has the placeholder %s", braces)
	}
}

// rowsOf returns the rows of the tables of causes.
func rowsOf(page string) []string {
	return slices.DeleteFunc(strings.Split(page, "\n"), func(l string) bool { return !strings.HasPrefix(l, "| `") })
}

// problemsPage returns text with the table of its causes below each reason, and the reasons of a condition that is True.
func problemsPage(text string) string {
	var reasons strings.Builder
	for _, r := range explain.TrueReasons() {
		fmt.Fprintf(&reasons, "| True | `%s` | %s | 0 |\n", r.Reason, r.Meaning)
	}
	var out strings.Builder
	for _, part := range strings.SplitAfter(strings.Replace(text, reasonsMark, reasons.String(), 1), causesMark) {
		before, marked := strings.CutSuffix(part, causesMark)
		out.WriteString(before)
		if heads := section.FindAllStringSubmatch(before, -1); marked && len(heads) > 0 {
			out.WriteString(causesOf(problem.Reason(heads[len(heads)-1][1])))
		}
	}
	return out.String()
}

// causesOf returns the table of the causes of r.
func causesOf(r problem.Reason) string {
	var out strings.Builder
	out.WriteString("| cause | severity | message | fix |\n| --- | --- | --- | --- |\n")
	escaped := strings.NewReplacer("*", `\*`, "|", `\|`).Replace
	for _, c := range problem.Catalogue() {
		if c.Reason == r {
			m := explain.General(c, func(argument string) string { return "`<" + argument + ">`" })
			fmt.Fprintf(&out, "| `%s` | `%s` | %s | %s |\n", c.Cause, c.Severity, escaped(strings.TrimSpace(m.What+" "+m.Effect)), escaped(m.Fix))
		}
	}
	return out.String()
}
