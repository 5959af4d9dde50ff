package check

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestLines: the worst problem decides the verdict and the page, and a problem of another version still has its arguments.
func TestLines(t *testing.T) {
	g := NewWithT(t)
	evicted, silent := found(problem.EdgeEvicted, problem.Args{"edge": {"2"}, "pod": {"x"}}), found(problem.ConnectionSilent, problem.Args{"within": {"10s"}})
	c := lineOf("x", append(evicted, silent...))
	g.Expect(c.Verdict).To(Equal(failure))
	g.Expect(c.Why).To(And(HavePrefix("No answer within 10s. "), HaveSuffix(" Edge 2, pod x, was evicted.")))
	g.Expect(c.Page).To(Equal(command.ProblemsPage + "#networktestfailed"))
	g.Expect(lineOf("x", evicted)).To(And(HaveField("Verdict", fine), HaveField("Page", "")))
	newer := problem.Problem{Reason: "Newer", Cause: "Newer", Severity: "Newer", Args: problem.Args{"a": {"b"}}}
	g.Expect(lineOf("x", problem.Problems{newer})).To(And(HaveField("Verdict", unsure), HaveField("Why", "b")))
}

// TestReadTrials: what the pod prints before its results is no result.
func TestReadTrials(t *testing.T) {
	g := NewWithT(t)
	text := []byte("{\"uses\":\"02:00:00:00:00:01\"}\n[{\"name\":\"x\"}]\n")
	g.Expect(readTrialStart(text)).To(Equal(network.TrialStart{Uses: "02:00:00:00:00:01"}))
	g.Expect(readTrials(text)).To(Equal([]checked{{Name: "x", Verdict: fine}}))
	for _, none := range []string{"", "[]\n", "{\"uses\":\"02:00:00:00:00:01\"}\n", "{\"us"} {
		_, err := readTrials([]byte(none))
		g.Expect(err).To(MatchError(ContainSubstring("The pod printed no results")))
	}
	g.Expect(readTrialStart([]byte("{\"us")).Uses).To(BeEmpty())
}
