package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestValuesOfNodePoolsOnOneNetwork checks that no NodePool's value becomes that of another
// NodePool, for which the HostedCluster has a value.
func TestValuesOfNodePoolsOnOneNetwork(t *testing.T) {
	for _, c := range []struct {
		name, key, cluster, first, second, want string
	}{
		{"only one has a CIDR", "cidr", "", "10.1.0.0/24", "", "10.1.0.0/24"},
		{"the HostedCluster's CIDR is for the other", "cidr", "10.2.0.0/24", "10.1.0.0/24", "", ""},
		{"the same, and the younger one has it", "cidr", "10.2.0.0/24", "", "10.1.0.0/24", ""},
		{"the CIDR of the HostedCluster repeated", "cidr", "10.1.0.0/24", "10.1.0.0/24", "", "10.1.0.0/24"},
		{"both override the HostedCluster", "cidr", "10.2.0.0/24", "10.1.0.0/24", "10.1.0.0/24", "10.1.0.0/24"},
		{"different CIDRs", "cidr", "", "10.1.0.0/24", "10.2.0.0/24", ""},
		{"only one has a gateway", "gateway", "", "192.168.100.1", "", "192.168.100.1"},
		{"the HostedCluster's gateway is for the other", "gateway", "192.168.100.254", "192.168.100.1", "", ""},
		{"both have the HostedCluster's gateway", "gateway", "192.168.100.254", "", "", "192.168.100.254"},
		{"the HostedCluster's gateway is on another network", "gateway", "10.9.0.1", "192.168.100.1", "192.168.100.1", "192.168.100.1"},
		{"different gateways", "gateway", "", "192.168.100.1", "192.168.100.2", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			second := *o.NodePools[0].DeepCopy()
			second.Name = "second"
			o.NodePools = append(o.NodePools, second)
			for i, value := range []string{c.first, c.second} {
				if value != "" {
					o.NodePools[i].Annotations = map[string]string{settings.Prefix + c.key: value}
				}
			}
			if c.cluster != "" {
				annotate(&o, c.key, c.cluster)
			}
			p, problems := plan(o)
			g.Expect(problems.Blocking()).To(Equal(c.want == ""), "%v", problems)
			if c.want == "" {
				g.Expect(message(problems.BySeverity()[0])).To(ContainSubstring("nnotation " + c.key))
				g.Expect(problems.BySeverity()[0].Reason).To(Equal(problem.AnnotationInvalid))
				return
			}
			got := map[string]string{"cidr": p.Networks[0].CIDR.String(), "gateway": p.Networks[0].DHCP.Router.String()}
			g.Expect(got[c.key]).To(Equal(c.want))
		})
	}
}

// TestSameMeaningOnOneNetwork checks that a NodePool may repeat a default, and that the Error
// names the keys whose values differ.
func TestSameMeaningOnOneNetwork(t *testing.T) {
	for _, c := range []struct{ key, first, second string }{
		{"lease-time", "", "1h"},
		{"services", "", "proxy,dns,ntp,dhcp"},
		{"services", "", "proxy,dns,dhcp"}, // The default of a release without NTP.
		{"services", "dhcp,dns,ntp", "dns,dhcp"},
		{"ntp-servers", "192.168.100.7,192.168.100.8", "192.168.100.8,192.168.100.7"},
		{"lease-time", "", "2h"},
		{"mtu", "1400", "1300"},
	} {
		g, o := NewWithT(t), served(t)
		second := *o.NodePools[0].DeepCopy()
		second.Name = "second"
		o.NodePools = append(o.NodePools, second)
		for i, v := range []string{c.first, c.second} {
			if o.NodePools[i].Annotations = nil; v != "" {
				o.NodePools[i].Annotations = map[string]string{settings.Prefix + c.key: v}
			}
		}
		_, problems := plan(o)
		differ := c.second == "2h" || c.key == "mtu"
		g.Expect(problems.Blocking()).To(Equal(differ), "%s: %v", c.key, problems)
		if differ {
			g.Expect(problems.BySeverity()[0]).To(And(HaveField("Cause", problem.NodePoolSettingsDiffer), HaveField("Keys", Equal([]string{c.key}))))
		}
	}
}

// TestTimeOnASharedNetwork checks that edges run NTP if a NodePool selects it, whichever comes first.
// Releases without NTP took two NodePools for equal that now differ in NTP alone.
func TestTimeOnASharedNetwork(t *testing.T) {
	for _, c := range []struct {
		first, second string
		want          []network.Service
	}{
		{"", "dhcp,dns,proxy", network.AllServices()},
		{"dhcp,dns,proxy", "", network.AllServices()},
		{"dhcp,dns,proxy", "dhcp,dns,proxy", []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}},
		{"dhcp,dns", "dns,ntp,dhcp", []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceNTP}},
	} {
		g, o := NewWithT(t), served(t)
		o.NodePools = append(o.NodePools, *o.NodePools[0].DeepCopy())
		o.NodePools[1].Name = "second"
		for i, v := range []string{c.first, c.second} {
			if o.NodePools[i].Annotations = nil; v != "" {
				o.NodePools[i].Annotations = map[string]string{settings.Prefix + "services": v}
			}
		}
		p, problems := plan(o)
		g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
		g.Expect(p.Networks[0].Services).To(Equal(c.want), "%q and %q", c.first, c.second)
	}
}
