// This file writes docs/problems.md: the text of testdata/problems.md, and below each
// reason a table of its causes with their messages.

package docs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

const causesMark = "<!-- causes -->\n"

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

// problemsPage returns text with the table of its causes below each reason.
func problemsPage(text string) string {
	var out strings.Builder
	for _, part := range strings.SplitAfter(text, causesMark) {
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
	for _, c := range problem.Catalogue() {
		if c.Reason != r {
			continue
		}
		message := strings.TrimSpace(c.What + " " + c.Effect)
		fix := c.Fix
		switch {
		case fix == "" && c.Severity == problem.SeverityUnknown:
			fix = "Remove the cause, and check again."
		case fix == "":
			fix = "No action is needed."
		}
		fmt.Fprintf(&out, "| `%s` | `%s` | %s | %s |\n", c.Cause, c.Severity, readable(message, c), readable(fix, c))
	}
	return out.String()
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// readable returns a template as Markdown, with a name between angle brackets for each
// placeholder.
func readable(template string, c problem.Entry) string {
	escaped := strings.NewReplacer("*", `\*`, "|", `\|`).Replace(template)
	return placeholder.ReplaceAllStringFunc(escaped, func(p string) string {
		return "`<" + placeholderName(strings.Trim(p, "{}"), c) + ">`"
	})
}

// placeholderName returns what a reader calls an argument: "otherMAC" is "other MAC".
func placeholderName(arg string, c problem.Entry) string {
	switch {
	case arg == "subject":
		return c.Subject
	case arg == "other":
		return cmp.Or(map[problem.Cause]string{
			problem.NADDuplicatesRunning: "other network", problem.OneClockUnsynchronized: "other edge", problem.AccessPortRepeated: "other entry",
			problem.LoadBalancerPortShared: "other Service", problem.JoinSubnetsDiffer: "other CIDR", problem.PathDiffers: "other router",
		}[c.Cause], "other destination")
	}
	if name, ok := placeholderNames()[arg]; ok {
		return name
	}
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(arg, "$1 $2"))
}

func placeholderNames() map[string]string {
	return map[string]string{
		"allowed": "allowed namespaces", "at": "host and port", "by": "other endpoint", "cidr": "CIDR", "found": "entries of machineNetwork",
		"layer2": "layer-2 network", "mac": "MAC", "meant": "similar key", "most": "maximum", "nad": "NAD", "newKey": "new key",
		"nextHop": "next-hop VIP", "serviceVIP": "service VIP", "arpAnnounce": "value", "nodePool": "NodePool", "nodePools": "NodePools", "otherCIDR": "other CIDR",
		"otherMAC": "other MAC", "otherNAD": "other NAD", "otherNodePool": "other NodePool", "role": "role of the address", "vm": "VM",
		"vms": "number of VMs", "want": "valid value", "wanted": "new value", "where": "field or annotation",
	}
}
