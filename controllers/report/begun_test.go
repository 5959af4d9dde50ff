package report

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// TestBegun: what edges find has an Event when it begins, although the condition's reason
// stays, and none while it continues.
func TestBegun(t *testing.T) {
	of := func(c problem.Cause, args problem.Args) problem.Problem {
		args["network"] = []string{"clusters/vlan100"}
		return problem.New(c, problem.Subject{}, args)
	}
	full := of(problem.PoolExhausted, problem.Args{"used": {"80"}})
	fuller := of(problem.PoolExhausted, problem.Args{"used": {"81"}})
	host := of(problem.PoolAddressOfHost, problem.Args{"mac": {"02:00:00:00:00:aa"}, "addresses": {"192.168.100.20"}})
	other := of(problem.PoolAddressOfHost, problem.Args{"mac": {"02:00:00:00:00:bb"}, "addresses": {"192.168.100.21"}})
	unwritten := of(problem.EdgeLeasesUnwritten, problem.Args{"edge": {"1"}})
	small := of(problem.VMsExceedDHCPRange, problem.Args{})
	both := of(problem.PoolExhausted, problem.Args{"used": {"80"}})
	both.Args["network"] = []string{"clusters/vlan100", "clusters/vlan200"}
	report := func(ps problem.Problems) explain.Report { return explain.Status{Problems: ps, Applied: true}.Report() }
	for name, c := range map[string]struct {
		before, now problem.Problems
		told        problem.Reason
		events      problem.Problems
	}{
		"it begins":                {nil, problem.Problems{small, full}, "ReadyWithWarnings", problem.Problems{full}},
		"it goes on":               {problem.Problems{full}, problem.Problems{fuller}, "", nil},
		"another one begins":       {problem.Problems{full, host}, problem.Problems{full, other, unwritten}, "", problem.Problems{other, unwritten}},
		"an Event said it":         {nil, problem.Problems{full}, problem.AddressesExhausted, nil},
		"of two edges":             {nil, problem.Problems{host, host}, "", problem.Problems{host}},
		"on another network, too":  {problem.Problems{full}, problem.Problems{both}, "", problem.Problems{both}},
		"it goes on on one of two": {problem.Problems{both}, problem.Problems{full}, "", nil},
		"it is over":               {problem.Problems{full}, nil, "", nil},
		"not found by an edge":     {nil, problem.Problems{small}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got problem.Problems
			for _, p := range begun(report(c.now), report(c.before), c.told) {
				got = append(got, p.Problem)
			}
			NewWithT(t).Expect(got).To(Equal(c.events))
		})
	}
	running := explain.Status{Problems: problem.Problems{host, {Reason: problem.CIDRMissing, Severity: problem.SeverityError}}, Running: true}
	NewWithT(t).Expect(begun(running.Report(), explain.Report{}, "")).To(HaveLen(1), "while the configuration is refused")
}
