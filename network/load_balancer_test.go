package network_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestLoadBalancerInUse: an address that a VM or another cluster has is not that of *.apps.
func TestLoadBalancerInUse(t *testing.T) {
	at := netip.MustParseAddr("192.168.100.80")
	apps := named("apps", "*.apps.example.com", 443, network.MatchServerName)
	apps.Origin, apps.LoadBalancer = network.OriginApps, at
	other := func(name string) network.OtherCluster {
		in := serving()
		in.Cluster.Name = name
		p, _ := derived(in)
		return network.OtherCluster{Name: "clusters/" + name, On: p.Attachments(), Serves: p}
	}
	for by, c := range map[string]struct {
		vms    []network.VMAddress
		others []network.OtherCluster
	}{
		"":                              {vms: []network.VMAddress{{VM: "blue-1", Network: "clusters.elsewhere", Address: at}}},
		"VM blue":                       {vms: []network.VMAddress{{VM: "blue", Network: serving().Networks[0].Attachment.NetworkName(), Address: at}}},
		"hosted cluster clusters/green": {others: []network.OtherCluster{other("green")}},
	} {
		g := NewWithT(t)
		in := serving(apps)
		in.VMAddresses = c.vms
		d := network.Derive(in.Request, in.Facts, network.Plan{}, c.others)
		resolved := at
		if by != "" {
			resolved = netip.MustParseAddr("192.168.100.3")
			g.Expect(d.Problems).To(ContainElement(And(HaveField("Cause", network.AppsLoadBalancerInUse), HaveField("Args", HaveKeyWithValue("holder", by)))), by)
		} else {
			g.Expect(d.Problems).NotTo(ContainElement(HaveField("Cause", network.AppsLoadBalancerInUse)))
		}
		for _, n := range d.Draft().Networks {
			g.Expect(n.DNS.Views[0].Records).To(ContainElement(network.Record{Name: "*.apps.example.com", Addresses: []netip.Addr{resolved}}), by)
		}
	}
}
