package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestLoadBalancerInUse: *.apps does not use the address of a load balancer if a VM or another hosted cluster has this address.
func TestLoadBalancerInUse(t *testing.T) {
	at := netip.MustParseAddr("192.168.100.80")
	apps := named("apps", "*.apps.example.com", 443, network.MatchServerName)
	apps.Origin, apps.LoadBalancer = network.OriginApps, at
	other := func(name string) derive.OtherCluster {
		in := serving()
		in.Cluster.Name = name
		p, _ := derived(in)
		return derive.OtherCluster{Name: "clusters/" + name, On: p.Attachments(), Serves: p}
	}
	for by, c := range map[string]struct {
		vms    []network.VMAddress
		others []derive.OtherCluster
	}{
		"":                              {vms: []network.VMAddress{{VM: "blue-1", Network: "clusters.elsewhere", Address: at}}},
		"VM blue":                       {vms: []network.VMAddress{{VM: "blue", Network: serving().Networks[0].Attachment.NetworkName(), Address: at}}},
		"hosted cluster clusters/green": {others: []derive.OtherCluster{other("green")}},
	} {
		g := NewWithT(t)
		in := serving(apps)
		in.VMAddresses = c.vms
		d := derive.Derive(in.Request, in.Facts, network.Plan{}, c.others)
		resolved := at
		if by != "" {
			resolved = netip.MustParseAddr("192.168.100.3")
			g.Expect(d.Problems).To(ContainElement(And(HaveField("Cause", problem.AppsLoadBalancerInUse), HaveField("Args", HaveKeyWithValue("holder", HaveExactElements(by))))), by)
		} else {
			g.Expect(d.Problems).NotTo(ContainElement(HaveField("Cause", problem.AppsLoadBalancerInUse)))
		}
		for _, n := range d.Draft().Networks {
			g.Expect(n.DNS.Views[0].Records).To(ContainElement(network.Record{Name: "*.apps.example.com", Addresses: []netip.Addr{resolved}}), by)
		}
	}
}
