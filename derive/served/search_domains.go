// This file finds search domains below which all names resolve. Pods try most names of other hosts with a search domain
// first, so they would connect to the wrong host.

package served

import (
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// wildcardsOverSearchDomains returns a problem for each wildcard that resolves all names below search domains of n.
func wildcardsOverSearchDomains(n network.Network, s network.NetworkRequest, in Input) problem.Problems {
	if !n.Runs(network.ServiceDHCP) {
		return nil
	}
	below, ofManagement := map[string][]string{}, map[string]bool{}
	for _, d := range n.DHCP.SearchDomains {
		name, known := covering(n, d)
		if name == "" && leadsToManagement(n, in, d, known) {
			name = "*." + in.ManagementDomain
			ofManagement[name] = true
		}
		if name != "" {
			below[name] = append(below[name], d)
		}
	}
	var ps problem.Problems
	for _, name := range slices.Sorted(maps.Keys(below)) {
		key, domains := network.KeySearchDomains, below[name]
		if slices.ContainsFunc(s.Settings.Records, func(r network.Record) bool { return strings.EqualFold(r.Name, name) }) {
			key = network.KeyRecords
		}
		p := n.Problem(problem.SearchDomainHasWildcard, problem.Args{"domain": domains[:min(len(domains), maxNamed)], "name": {name}}, key)
		if ofManagement[name] && !in.Passthrough {
			p.Severity = problem.SeverityInfo
		}
		ps = append(ps, p)
	}
	return ps
}

// leadsToManagement reports whether the DNS servers of VMs resolve all names below domain to the ingress of the management
// cluster. known is that of covering.
func leadsToManagement(n network.Network, in Input, domain string, known bool) bool {
	forwarded := !n.Runs(network.ServiceDNS) || !known && n.DNS.Upstreams.Mode != network.UpstreamNone
	return forwarded && in.ManagementDomain != "" && within(domain, in.ManagementDomain)
}

// covering returns the wildcard that VMs get from edges of n for names below domain (RFC 4592, section 3.3.1), or "". known is
// false if edges do not have these names.
func covering(n network.Network, domain string) (wildcard string, known bool) {
	if len(n.DNS.Views) == 0 {
		return "", false
	}
	v := n.DNS.Views[0]
	names := slices.Clone(v.Zones)
	for _, r := range v.Records {
		names = append(names, r.Name)
	}
	for at := domain; at != ""; _, at, _ = strings.Cut(at, ".") {
		if is := func(name string) bool { return strings.EqualFold(name, "*."+at) }; slices.ContainsFunc(names, is) {
			return "*." + at, true
		}
		if slices.ContainsFunc(names, func(name string) bool { return within(name, at) }) {
			break // The closest name that exists has no wildcard.
		}
	}
	return "", slices.ContainsFunc(v.Zones, func(zone string) bool { return zone == "." || within(domain, zone) })
}

// within reports whether name is domain or a name below it.
func within(name, domain string) bool {
	name, domain = strings.ToLower(name), strings.ToLower(domain)
	return name == domain || network.MatchesHost("*."+domain, name)
}
