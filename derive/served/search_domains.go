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
	names := namesOf(n)
	for _, d := range n.DHCP.SearchDomains {
		name, known := names.covering(d)
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

// coveredNames are the names that VMs get from edges of one network, in lower case.
type coveredNames struct {
	// exists has each name, and all names above it. zones has the zones.
	exists, zones map[string]bool
}

func namesOf(n network.Network) coveredNames {
	c := coveredNames{map[string]bool{}, map[string]bool{}}
	if len(n.DNS.Views) == 0 {
		return c
	}
	add := func(name string) {
		for at := name; at != "" && !c.exists[at]; _, at, _ = strings.Cut(at, ".") {
			c.exists[at] = true
		}
	}
	v := n.DNS.Views[0]
	for _, zone := range v.Zones {
		zone = strings.ToLower(zone)
		add(zone)
		c.zones[zone] = true
	}
	for _, r := range v.Records {
		add(strings.ToLower(r.Name))
	}
	return c
}

// covering returns the wildcard for names below domain (RFC 4592, section 3.3.1), or "". known is false if edges do not
// have these names.
func (c coveredNames) covering(domain string) (wildcard string, known bool) {
	known = c.zones["."]
	closest := false // The closest name that exists was found.
	for at := domain; at != ""; _, at, _ = strings.Cut(at, ".") {
		name := strings.ToLower(at)
		if !closest && c.exists["*."+name] {
			return "*." + at, true
		}
		closest = closest || c.exists[name]
		known = known || c.zones[name]
	}
	return "", known
}

// within reports whether name is domain or a name below it.
func within(name, domain string) bool {
	name, domain = strings.ToLower(name), strings.ToLower(domain)
	return name == domain || network.MatchesHost("*."+domain, name)
}
