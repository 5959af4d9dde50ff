package hcp_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	dnsanswers "github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/dnsnames"
)

// hasWildcard is the cause that names below a search domain resolve to one address.
const hasWildcard problem.Cause = "SearchDomainHasWildcard"

// searched returns the domains that VMs on n, and pods on these, add to a name. They are in option 119, else in option 15.
func searched(n network.Network) []string {
	if !n.Primary {
		return nil
	}
	return n.DHCP.SearchDomains
}

// asked returns what the DNS server of n answers to a VM. forwarded: upstreams answer, or other DNS servers.
func asked(n network.Network, vms dnsanswers.VMs, name string) (addresses []netip.Addr, forwarded bool) {
	v := dnsanswers.NewViews(n, nil).For(n.ServiceVIP)
	if v == nil {
		return nil, true
	}
	reply, known := dnsanswers.Answer(v, vms, dns.Question{Name: dns.Fqdn(name), Qtype: dns.TypeA, Qclass: dns.ClassINET})
	for _, rr := range reply.Answer {
		if a, ok := rr.(*dns.A); ok {
			address, _ := netip.AddrFromSlice(a.A.To4())
			addresses = append(addresses, address)
		}
	}
	return addresses, !known && n.DNS.Upstreams.Mode != network.UpstreamNone
}

// searches checks that no name of another host resolves below a search domain, or that a problem says so. The DNS of the
// management cluster has a wildcard at its ingress domain, which may be above the domain of the hosted cluster. If the
// user chose the base domain, closer records may exist, so the problem is a hint.
func (b *broken) searches(o hcp.Objects, plan network.Plan, problems problem.Problems) {
	k := o.HostedCluster.Spec.Platform.Kubevirt
	passes := k != nil && k.BaseDomainPassthrough != nil && *k.BaseDomainPassthrough
	below := func(domain, above string) bool { return strings.HasSuffix("."+strings.ToLower(domain), "."+above) }
	for _, n := range plan.Networks {
		for _, d := range searched(n) {
			addresses, forwarded := asked(n, nil, "registry.corp.net."+d)
			wildcard := slices.ContainsFunc(o.Routes, func(r routev1.Route) bool {
				above, generated := strings.CutPrefix(r.Spec.Host, r.Name+"-"+r.Namespace+".") // Only OpenShift makes such hosts.
				return generated && above != "" && below(plan.Cluster.Domain, above) && below(d, above)
			})
			wrong := len(addresses) > 0 || forwarded && wildcard
			said := slices.ContainsFunc(problems, func(p problem.Problem) bool {
				severity := problem.SeverityWarning
				if len(addresses) == 0 && !passes {
					severity = problem.SeverityInfo
				}
				return p.Cause == hasWildcard && p.Severity == severity && slices.Contains(p.Args["domain"], d) && slices.Contains(p.Args["network"], n.Attachment.String())
			})
			if wrong != said {
				b.law("%s: names of other hosts below search domain %s resolve: %v, and a problem says so: %v", n.Name, d, wrong, said)
			}
		}
	}
}

// TestSearchDomains: a name of another host does not resolve below a search domain, or a problem says so. Names of nodes
// resolve in all cases.
func TestSearchDomains(t *testing.T) {
	passing := func(o *hcp.Objects) {
		passthrough(o, true)
		o.HostedCluster.Spec.DNS.BaseDomain = "apps.mgmt.example.com"
	}
	ofUser := func(o *hcp.Objects) { o.HostedCluster.Spec.DNS.BaseDomain = "apps.mgmt.example.com" }
	ingressDomain := func(o *hcp.Objects) {
		o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &configv1.IngressSpec{Domain: "blue.example.com"}}
	}
	own, below := []string{"blue.example.com"}, []string{"blue.apps.mgmt.example.com"}
	for name, c := range map[string]struct {
		change      func(*hcp.Objects)
		annotations map[string]string
		want, said  []string
		// noNames: a wildcard replaces the names of nodes, or other DNS servers do not have these.
		noNames bool
	}{
		"own domain":             {want: own},
		"own domain and gateway": {annotations: map[string]string{"gateway": "192.168.100.1"}, want: own},
		"own domain, DHCP alone": {annotations: map[string]string{"services": "dhcp", "dns-upstreams": "192.168.100.1"}, want: own, noNames: true},

		"passthrough":                          {change: passing, want: below},
		"passthrough and gateway":              {change: passing, annotations: map[string]string{"gateway": "192.168.100.1"}, want: below},
		"passthrough and upstream":             {change: passing, annotations: map[string]string{"dns-upstreams": "management"}, want: below},
		"passthrough and server":               {change: passing, annotations: map[string]string{"dns-upstreams": "192.168.100.1"}, want: below},
		"passthrough, ingress not yet":         {change: func(o *hcp.Objects) { passing(o); o.Services = o.Services[:len(o.Services)-1] }, annotations: map[string]string{"gateway": "192.168.100.1"}, want: below},
		"passthrough, the ingress beyond":      {change: passing, annotations: map[string]string{"gateway": "192.168.100.1", "services": "dhcp,dns"}},
		"passthrough, DHCP alone":              {change: passing, annotations: map[string]string{"services": "dhcp", "dns-upstreams": "192.168.100.1"}, noNames: true},
		"passthrough, DHCP by others":          {change: passing, annotations: map[string]string{"services": "dns,proxy", "dns-upstreams": "management"}, want: below},
		"passthrough, all of management":       {change: passing, annotations: map[string]string{"gateway": "192.168.100.1", "search-domains": "apps.mgmt.example.com"}, want: []string{"apps.mgmt.example.com"}, said: []string{"*.apps.mgmt.example.com"}},
		"passthrough, its domain, DHCP alone":  {change: passing, annotations: map[string]string{"services": "dhcp", "dns-upstreams": "192.168.100.1", "search-domains": below[0]}, want: below, said: []string{"*.apps.mgmt.example.com"}, noNames: true},
		"passthrough, another search domain":   {change: passing, annotations: map[string]string{"gateway": "192.168.100.1", "search-domains": "corp.net"}, want: []string{"corp.net"}},
		"passthrough, isolated from all names": {change: passing, annotations: map[string]string{"search-domains": "apps.mgmt.example.com"}, want: []string{"apps.mgmt.example.com"}},

		"a base domain of the user below the management cluster's": {change: ofUser, want: below},
		"the same and gateway":                    {change: ofUser, annotations: map[string]string{"gateway": "192.168.100.1"}},
		"the same, the domain set":                {change: ofUser, annotations: map[string]string{"gateway": "192.168.100.1", "search-domains": below[0]}, want: below, said: []string{"*.apps.mgmt.example.com"}},
		"a base domain further below and gateway": {change: func(o *hcp.Objects) { o.HostedCluster.Spec.DNS.BaseDomain = "lab.apps.mgmt.example.com" }, annotations: map[string]string{"gateway": "192.168.100.1"}},

		"wildcard at the domain":               {annotations: map[string]string{"dns-records": "*.blue.example.com=192.168.100.77"}, want: own, said: []string{"*.blue.example.com"}, noNames: true},
		"wildcard above, isolated":             {annotations: map[string]string{"dns-records": "*.example.com=192.168.100.77"}, want: own},
		"wildcard above, gateway":              {annotations: map[string]string{"dns-records": "*.example.com=192.168.100.77", "gateway": "192.168.100.1"}, want: own, said: []string{"*.example.com"}, noNames: true},
		"wildcard above, name below, gateway":  {annotations: map[string]string{"dns-records": "*.example.com=192.168.100.77,a.b.blue.example.com=192.168.100.78", "gateway": "192.168.100.1"}, want: own},
		"wildcard at another search domain":    {annotations: map[string]string{"dns-records": "*.corp.net=192.168.100.77", "search-domains": "lab.corp.net,blue.example.com"}, want: []string{"lab.corp.net", "blue.example.com"}, said: []string{"*.corp.net"}},
		"wildcard below the domain":            {annotations: map[string]string{"dns-records": "*.git.blue.example.com=192.168.100.77"}, want: own},
		"the ingress at the domain":            {change: ingressDomain, annotations: map[string]string{"apps-address": "192.168.100.6"}, want: own, said: []string{"*.blue.example.com"}, noNames: true},
		"the ingress at a search domain":       {annotations: map[string]string{"apps-address": "192.168.100.6", "search-domains": "apps.blue.example.com"}, want: []string{"apps.blue.example.com"}, said: []string{"*.apps.blue.example.com"}},
		"the ingress at the domain, elsewhere": {change: ingressDomain, annotations: map[string]string{"apps-address": "192.168.100.6", "search-domains": "corp.net"}, want: []string{"corp.net"}, noNames: true},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			if c.change != nil {
				c.change(&o)
			}
			for key, value := range c.annotations {
				o.HostedCluster.Annotations[settings.Prefix+key] = value
			}
			p, problems := plan(o)
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			n := p.Networks[0]
			g.Expect(searched(n)).To(Equal(c.want))
			var said []string
			for _, p := range causesOf(problems, hasWildcard) {
				said = append(said, p.Args["name"]...)
			}
			g.Expect(said).To(Equal(c.said))
			var b broken
			b.searches(o, p, problems)
			g.Expect(b).To(BeEmpty())

			vm := n.CIDR.Addr().Next().Next()
			if c.noNames {
				return
			}
			addresses, _ := asked(n, dnsnames.Leases{vm: "blue-abcde-fghij"}, "blue-abcde-fghij."+p.Cluster.Domain)
			g.Expect(addresses).To(HaveExactElements(vm))
		})
	}
}
