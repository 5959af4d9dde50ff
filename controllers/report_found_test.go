package controllers

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestNewlyFound: what edges find has an Event when it begins, although the condition's reason
// stays, and none while it goes on.
func TestNewlyFound(t *testing.T) {
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
	for name, c := range map[string]struct {
		before, now network.Problems
		told        network.Reason
		events      network.Problems
	}{
		"it begins":            {nil, network.Problems{small, full}, "ReadyWithWarnings", network.Problems{full}},
		"it goes on":           {network.Problems{full}, network.Problems{fuller}, "", nil},
		"another one begins":   {network.Problems{full, host}, network.Problems{full, other, unwritten}, "", network.Problems{other, unwritten}},
		"an Event said it":     {nil, network.Problems{full}, network.AddressesExhausted, nil},
		"of two edges":         {nil, network.Problems{host, host}, "", network.Problems{host}},
		"it is over":           {network.Problems{full}, nil, "", nil},
		"not found by an edge": {nil, network.Problems{small}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(newlyFound(verdict{problems: c.now}, foundIn(c.before), c.told)).To(Equal(c.events))
		})
	}
	g := NewWithT(t)
	all := foundIn(network.Problems{full, unwritten})
	g.Expect(namedFound("Nodes can boot.\nWarning AddressesExhausted: DHCP on network", all)).To(Equal(all[:1]), "an operator that restarts repeats no Event")
}
