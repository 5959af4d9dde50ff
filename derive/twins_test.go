package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestTwins: of two NADs of one layer-2 network, the one that runs is served, whichever is older. The Error names the other NAD, and
// refuses nothing if VMs boot from the first.
func TestTwins(t *testing.T) {
	second := func(change func(*network.NetworkRequest)) network.NetworkRequest {
		s := onVLAN("b", "10.2.0.0/24", "cidr")
		s.Attachment.Layer2 = "bridge br1 VLAN 100"
		change(&s)
		return s
	}
	secondary := func(s *network.NetworkRequest) { s.Primary = false }
	withoutCIDR := func(s *network.NetworkRequest) { s.Primary, s.CIDR = false, netip.Prefix{} }
	primary := func(*network.NetworkRequest) {}
	for name, c := range map[string]struct {
		runs, inUse bool
		older       bool // the second is older than the first
		second      func(*network.NetworkRequest)
		served      string
		severity    problem.Severity
	}{
		"the first runs, and an older NodePool has the second as a secondary network": {true, true, true, secondary, "a.a", problem.SeverityWarning},
		"the same without VMs": {true, false, true, secondary, "a.a", problem.SeverityWarning},
		"the first runs, and an older NodePool boots from the second":      {true, false, true, primary, "a.a", problem.SeverityError},
		"none runs, and VMs are on the first":                              {false, true, true, primary, "a.a", problem.SeverityError},
		"none runs, and VMs boot from the first":                           {false, false, true, secondary, "a.a", problem.SeverityWarning},
		"none runs, and the second is older":                               {false, false, true, primary, "a.b", problem.SeverityError},
		"none runs, and the first is older":                                {false, false, false, primary, "a.a", problem.SeverityError},
		"none runs, and the older one is a secondary network without CIDR": {false, false, true, withoutCIDR, "a.a", problem.SeverityWarning},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			one, two := onVLAN("a", "10.1.0.0/24", "cidr"), second(c.second)
			one.Attachment.Layer2 = two.Attachment.Layer2
			if c.older {
				one.OlderTwins = []string{two.Attachment.String()}
			} else {
				two.OlderTwins = []string{one.Attachment.String()}
			}
			wanted := []string{"a.a", "a.b"}
			var last network.Plan
			if c.runs {
				last, _ = served(last, wanted, one)
			}
			in := asking(1, one, two)
			in.Wanted = wanted
			if c.inUse {
				in.InUse = []string{"a.a"}
			}
			d := derive.Derive(in.Request, in.Facts, last, nil)
			p, ok := d.Plan()
			g.Expect(ok).To(BeTrue(), "%v", d.Problems)
			g.Expect(p.Networks).To(ConsistOf(HaveField("Name", c.served)))
			loser := map[string]string{"a.a": "b", "a.b": "a"}[c.served]
			g.Expect(d.Problems).To(ConsistOf(And(HaveField("Cause", problem.NADsOnOneNetwork), HaveField("Severity", c.severity),
				HaveField("Subject.Name", loser))))
		})
	}
}

// TestNADMovedOntoAnother: a NAD is changed to the layer-2 network of another running NAD. Both networks continue as they run, and the
// problem names the NAD that was changed.
func TestNADMovedOntoAnother(t *testing.T) {
	for _, inUse := range [][]string{nil, {"a.other"}, {"a.edited", "a.other"}} {
		g := NewWithT(t)
		edited, other := onVLAN("edited", "10.1.0.0/24", "cidr"), onVLAN("other", "10.2.0.0/24", "cidr")
		edited.Attachment.Kind, other.Attachment.Kind = "bridge", "bridge"
		edited.Attachment.Layer2, other.Attachment.Layer2 = "bridge br1 VLAN 100", "bridge br1 VLAN 200"
		in := asking(1, edited, other)
		in.Wanted, in.InUse = []string{"a.edited", "a.other"}, inUse
		last, _ := after(in, network.Plan{})

		in.Networks[0].Attachment.Layer2 = other.Attachment.Layer2
		in.Networks[1].OlderTwins = []string{"a/edited"}
		d := derive.Derive(in.Request, in.Facts, last, nil)
		p, ok := d.Plan()
		g.Expect(ok).To(BeTrue(), "%v", d.Problems)
		g.Expect(p).To(Equal(last), "both go on as they run")
		g.Expect(d.Problems).To(HaveLen(1))
		g.Expect(d.Problems[0].Subject.Name).To(Equal("edited"))
	}
}
