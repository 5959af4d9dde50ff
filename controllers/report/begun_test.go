package report

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// TestBegun: what edges find has an Event when it begins, although the condition's reason
// stays, and none while it goes on.
func TestBegun(t *testing.T) {
	of := func(c network.Cause, args network.Args) network.Problem {
		args["network"] = "clusters/vlan100"
		return network.NewProblem(c, network.Subject{}, args)
	}
	full := of(network.PoolExhausted, network.Args{"used": "80"})
	fuller := of(network.PoolExhausted, network.Args{"used": "81"})
	host := of(network.PoolAddressOfHost, network.Args{"mac": "02:00:00:00:00:aa", "addresses": "192.168.100.20"})
	other := of(network.PoolAddressOfHost, network.Args{"mac": "02:00:00:00:00:bb", "addresses": "192.168.100.21"})
	unwritten := of(network.EdgeLeasesUnwritten, network.Args{"edge": "1"})
	small := of(network.VMsExceedDHCPRange, network.Args{})
	both := of(network.PoolExhausted, network.Args{"used": "80"})
	both.Args["network"] = "clusters/vlan100, clusters/vlan200"
	report := func(ps network.Problems) explain.Report { return explain.Status{Problems: ps, Applied: true}.Report() }
	for name, c := range map[string]struct {
		before, now network.Problems
		told        network.Reason
		events      network.Problems
	}{
		"it begins":                {nil, network.Problems{small, full}, "ReadyWithWarnings", network.Problems{full}},
		"it goes on":               {network.Problems{full}, network.Problems{fuller}, "", nil},
		"another one begins":       {network.Problems{full, host}, network.Problems{full, other, unwritten}, "", network.Problems{other, unwritten}},
		"an Event said it":         {nil, network.Problems{full}, network.AddressesExhausted, nil},
		"of two edges":             {nil, network.Problems{host, host}, "", network.Problems{host}},
		"on another network, too":  {network.Problems{full}, network.Problems{both}, "", network.Problems{both}},
		"it goes on on one of two": {network.Problems{both}, network.Problems{full}, "", nil},
		"it is over":               {network.Problems{full}, nil, "", nil},
		"not found by an edge":     {nil, network.Problems{small}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got network.Problems
			for _, p := range begun(report(c.now), report(c.before), c.told) {
				got = append(got, p.Problem)
			}
			NewWithT(t).Expect(got).To(Equal(c.events))
		})
	}
	running := explain.Status{Problems: network.Problems{host, {Reason: network.CIDRMissing, Severity: network.SeverityError}}, Running: true}
	NewWithT(t).Expect(begun(running.Report(), explain.Report{}, "")).To(HaveLen(1), "while the configuration is refused")
}
