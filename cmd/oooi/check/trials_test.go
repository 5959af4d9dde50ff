package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/network"
)

// TestTrialLines: each trial that is not ok has a fix and a heading in the documents that exists.
func TestTrialLines(t *testing.T) {
	g := NewWithT(t)
	headings := map[string]bool{}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "check.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
		headings[strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(m[1], "`", "")), " ", "-")] = true
	}
	kinds := []network.TrialKind{network.TrialDHCP, network.TrialName, network.TrialTime, network.TrialEndpoint, network.TrialRefused,
		network.TrialIsolated, network.TrialOwner, network.TrialFailover, ""}
	for _, k := range kinds {
		for _, v := range []network.TrialVerdict{network.TrialWarning, network.TrialFailure, network.TrialUnknown} {
			c := lineOf(network.TrialResult{Kind: k, Name: "x", Verdict: v, Why: "Y."})
			page, anchor, _ := strings.Cut(c.Page, "#")
			g.Expect(page).To(Equal(command.Docs + "check.md"))
			g.Expect(headings).To(HaveKey(anchor))
			if k != "" && v != network.TrialUnknown {
				g.Expect(c.Why).To(MatchRegexp(`^Y\. [A-Z].*\.$`), "the fix")
			}
		}
		g.Expect(lineOf(network.TrialResult{Kind: k, Name: "x", Verdict: network.TrialOK, Why: "Y."})).To(Equal(checked{Name: "x", Verdict: fine, Why: "Y."}))
	}
	g.Expect(lineOf(network.TrialResult{Verdict: "newer"}).Verdict).To(Equal(unsure))
}

// TestReadTrials: what the pod prints before its results is no result.
func TestReadTrials(t *testing.T) {
	g := NewWithT(t)
	text := []byte("{\"uses\":\"02:00:00:00:00:01\"}\n[{\"name\":\"x\",\"verdict\":\"ok\"}]\n")
	g.Expect(readTrialStart(text)).To(Equal(network.TrialStart{Uses: "02:00:00:00:00:01"}))
	g.Expect(readTrials(text)).To(Equal([]checked{{Name: "x", Verdict: fine}}))
	for _, none := range []string{"", "[]\n", "{\"uses\":\"02:00:00:00:00:01\"}\n", "{\"us"} {
		_, err := readTrials([]byte(none))
		g.Expect(err).To(MatchError(ContainSubstring("the pod printed no results")))
	}
	g.Expect(readTrialStart([]byte("{\"us")).Uses).To(BeEmpty())
}
