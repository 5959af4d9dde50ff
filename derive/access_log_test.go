package derive_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestAccessLogIsOfTheWholeCluster: every network with a proxy has the level that the user set, even a retained one. A plan of an earlier
// or a later format has the default.
func TestAccessLogIsOfTheWholeCluster(t *testing.T) {
	g := NewWithT(t)
	in := serving()
	in.Networks = append(in.Networks, onVLAN("b", "10.1.0.0/24", "cidr"))
	in.Networks[1].Settings.Services = []network.Service{network.ServiceDHCP, network.ServiceDNS}
	in.AccessLog = network.AccessLogAll
	plan, _ := derived(in)
	g.Expect(plan.Networks).To(HaveLen(2))
	g.Expect(plan.Networks[0].AccessLog).To(BeEmpty(), "it runs no proxy")
	g.Expect(plan.Networks[1].AccessLog).To(Equal(network.AccessLogAll))

	for level, want := range map[network.AccessLog]network.AccessLog{"": network.AccessLogFailures, "some": network.AccessLogFailures, "none": network.AccessLogNone, "all": network.AccessLogAll} {
		g.Expect(level.Level()).To(Equal(want), string(level))
	}
}
