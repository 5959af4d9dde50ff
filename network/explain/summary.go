// This file renders the first and the last lines of a condition: whether nodes can
// boot, which networks serve, who shares them, and which external hosts are allowed.

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// maxHosts is how many bytes of external hosts a condition names: some sixty.
const maxHosts = 2 << 10

// summary is the condition's first line. problems are ordered.
func (s Status) summary(problems network.Problems) string {
	first := network.Problem{}
	if len(problems) > 0 {
		first = problems[0]
	}
	switch {
	case !s.Applied && first.Blocks() && s.Running:
		return "The new configuration is not applied. Edges keep serving the previous one."
	case !s.Applied && first.Blocks():
		return "Nothing is applied: the configuration has an error. Nodes cannot boot."
	case !s.Applied && s.Running:
		return "The new configuration is not applied yet. Edges keep serving the previous one."
	case !s.Applied:
		return "Nothing is applied yet. Nodes cannot boot until the items below exist."
	}
	return s.lead(first) + s.serving()
}

// lead reports whether nodes can boot from what is applied. Empty where VMs boot from
// the pod network.
func (s Status) lead(first network.Problem) string {
	boots := slices.ContainsFunc(s.Plan.Networks, func(n network.Network) bool { return n.Primary })
	down := slices.ContainsFunc(s.Plan.Networks, func(n network.Network) bool { return n.Primary && s.ReadyEdges[n.Name] == 0 })
	switch {
	case !boots:
		return ""
	case down && first.Waits():
		return "Nodes cannot boot yet: "
	case down:
		return "Nodes cannot boot: "
	case first.Blocks():
		return "One part is in error: "
	case first.Waits():
		return "One part is not served yet: "
	case s.Problems.Has(network.ImagesUnreachable):
		return "Nodes can boot, but may not become Ready: "
	}
	return "Nodes can boot: "
}

// serving says which servers are ready where.
func (s Status) serving() string {
	var ready, down []network.Network
	edges, wanted := 0, 0
	for _, n := range s.Plan.Networks {
		wanted += len(n.Edges)
		edges += min(s.ReadyEdges[n.Name], len(n.Edges))
		if s.ReadyEdges[n.Name] > 0 {
			ready = append(ready, n)
		} else {
			down = append(down, n)
		}
	}
	count := fmt.Sprintf("%d of %d edges", edges, wanted)
	if wanted == 1 {
		count = fmt.Sprintf("%d of 1 edge", edges)
	}
	switch {
	case len(s.Plan.Networks) == 0:
		return "no network is configured."
	case len(ready) == 0:
		return fmt.Sprintf("no edge is ready on %s (%s).", onNetworks(down), count)
	case len(down) > 0:
		return fmt.Sprintf("no edge is ready on %s; %s (%s).", onNetworks(down), servers(ready), count)
	}
	return fmt.Sprintf("%s (%s).", servers(ready), count)
}

// servers says which servers are ready on which of all networks.
func servers(all []network.Network) string {
	groups := map[string][]network.Network{}
	var order []string
	for _, n := range all {
		words := sentenceList(names(n.Services))
		if groups[words] == nil {
			order = append(order, words)
		}
		groups[words] = append(groups[words], n)
	}
	var out []string
	for i, words := range order {
		verb := ""
		if i == 0 {
			verb = map[bool]string{true: " are ready", false: " is ready"}[len(groups[words][0].Services) > 1]
		}
		out = append(out, words+verb+" on "+onNetworks(groups[words]))
	}
	return strings.Join(out, ", ")
}

func names(services []network.Service) []string {
	words := map[network.Service]string{network.ServiceDHCP: "DHCP", network.ServiceDNS: "DNS", network.ServiceProxy: "proxy"}
	var out []string
	for _, s := range []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy} {
		if slices.Contains(services, s) {
			out = append(out, words[s])
		}
	}
	return out
}

// sentenceList is "a, b and c".
func sentenceList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// onNetworks names one or two networks, and counts more.
func onNetworks(all []network.Network) string {
	if len(all) > 2 {
		return fmt.Sprintf("%d networks", len(all))
	}
	var words []string
	for _, n := range all {
		words = append(words, fmt.Sprintf("%s (%s)", n.Attachment, n.CIDR))
	}
	if len(all) == 1 {
		return "network " + words[0]
	}
	return "networks " + strings.Join(words, " and ")
}

// sharing is a line for each network that another hosted cluster uses, too: first is
// where that cluster answers VMs of this one, last where it does not.
func (s Status) sharing() (first, last []string) {
	if !s.Applied {
		return nil, nil
	}
	for _, n := range s.Plan.Networks {
		if by := n.OfferedBy(s.OtherClusters); len(by) > 0 {
			first = append(first, fmt.Sprintf("Warning NetworkShared: HostedCluster %s uses network %s, too, and still answers every VM there. Fix its condition, or end its pause.", strings.Join(by, ", "), n.Attachment))
		} else if with := n.SharedWith(s.OtherClusters); len(with) > 0 {
			last = append(last, fmt.Sprintf("Info NetworkShared: HostedCluster %s uses network %s, too. Each answers the VMs of its own cluster only.", strings.Join(with, ", "), n.Attachment))
		}
	}
	return first, last
}

// offered reports whether another hosted cluster answers VMs of this one.
func (s Status) offered() bool {
	return s.Applied && slices.ContainsFunc(s.Plan.Networks, func(n network.Network) bool { return len(n.OfferedBy(s.OtherClusters)) > 0 })
}

// closing are the last lines: external hosts where something is applied, and the hash
// of the settings.
func (s Status) closing() []string {
	hash := fmt.Sprintf("(settings %s)", s.Settings)
	boots := slices.ContainsFunc(s.Plan.Networks, func(n network.Network) bool { return n.Primary })
	if !s.Applied || !boots {
		return []string{hash}
	}
	return []string{allowed(s.Plan), hash}
}

// allowed says which external hosts edges let VMs reach.
func allowed(p network.Plan) string {
	var hosts []string
	for _, n := range p.Networks {
		for _, b := range n.Backends {
			if b.Kind == network.BackendExternal {
				hosts = append(hosts, b.Name)
			}
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	if len(hosts) == 0 {
		return "No external hosts are allowed."
	}
	named, room := 0, maxHosts
	for named < len(hosts) && room >= len(hosts[named]) {
		room -= len(hosts[named]) + len(", ")
		named++
	}
	more := ""
	if named < len(hosts) {
		more = fmt.Sprintf(" and %d more", len(hosts)-named)
	}
	return fmt.Sprintf("Allowed external hosts: %s%s.", strings.Join(hosts[:named], ", "), more)
}
