// This file renders the summary and the notes of a Report. They say whether nodes can boot, which networks serve, which
// clusters share them, and which external hosts are allowed.

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxHosts limits the external hosts in a condition, in bytes. It is enough for about sixty.
const maxHosts = 2 << 10

// summary returns the condition's first line: o as text. problems are ordered.
func (s Status) summary(o bootOutlook, problems problem.Problems) string {
	first := problem.Problem{}
	if len(problems) > 0 {
		first = problems[0]
	}
	switch {
	case o.cause == causeRemoving && s.Running:
		return "The networks of this cluster are being removed. At least one edge still exists."
	case o.cause == causeRemoving:
		return "The networks of this cluster are being removed, and no edge exists. " + s.nothing(o, ".")
	case o.cause == causePaused:
		return "Nothing is applied: the cluster is paused. " + s.nothing(o, ".")
	case o.cause == causeUnread:
		return "The state of this cluster cannot be read completely. Edges that run keep serving the previous configuration."
	case s.Applied && first.Level() == problem.SeverityError && ofAPIServer(first.Cause):
		return "The configuration is not fully applied. " + capital(s.serving())
	case !s.Applied && s.Running && problems.Has(problem.EdgeNotReady):
		return "The new configuration is not applied. At least one network has no ready edge."
	case !s.Applied && first.Blocks() && s.Running:
		return "The new configuration is not applied. Edges keep serving the previous one."
	case !s.Applied && ofAPIServer(first.Cause):
		return "Nothing is applied. " + s.nothing(o, ".")
	case !s.Applied && first.Blocks():
		return "Nothing is applied: the configuration has an error. " + s.nothing(o, ".")
	case !s.Applied && s.Running:
		return "The new configuration is not applied yet. Edges keep serving the previous one."
	case !s.Applied:
		return "Nothing is applied yet. " + s.nothing(o, " until the items below exist.")
	}
	return s.served(o, first)
}

// ofAPIServer reports whether c is a fault of objects in the API server instead of the configuration.
func ofAPIServer(c problem.Cause) bool {
	switch c {
	case problem.WriteRefused, problem.DeleteRefused, problem.ObjectNotOwned, problem.PlanUnreadable, problem.ControlPlaneNamespaceShared:
		return true
	}
	return false
}

// nothing returns a text about what a plan that is not applied means for nodes. Without networks, the plan does not
// show what VMs boot from.
func (s Status) nothing(o bootOutlook, until string) string {
	switch {
	case len(s.Plan.Networks) == 0:
		return "Nodes that do not boot from the pod network cannot boot" + until
	case o.boots != No:
		return "VMs boot from the pod network, and get no address on other networks" + until
	}
	return "Nodes cannot boot" + until
}

// served returns a text about whether nodes can boot, what they lack, and which servers are ready.
func (s Status) served(o bootOutlook, first problem.Problem) string {
	yet := ""
	if first.Waits() {
		yet = " yet"
	}
	switch {
	case len(o.down) > 0 && o.up:
		return fmt.Sprintf("Nodes on %s cannot boot%s: %s", networkNames(o.down), yet, s.serving())
	case len(o.down) > 0:
		return fmt.Sprintf("Nodes cannot boot%s: %s", yet, s.serving())
	}
	if lead := s.lead(o); lead != "" {
		return lead + " " + capital(s.serving())
	}
	if !o.up {
		return capital(s.serving())
	}
	return "Nodes can boot: " + s.serving()
}

// lead returns the text before the list of servers: what nodes may lack, and what is not served. It is for a Status in
// which every network that VMs boot from has an edge. It returns "" if there is nothing to say.
func (s Status) lead(o bootOutlook) string {
	if len(s.Plan.Networks) == 0 {
		return ""
	}
	var sentences []string
	switch {
	case o.may != "":
		sentences = append(sentences, capital(o.may)+".")
	case len(o.failed)+len(o.waiting)+len(o.unchanged) == 0 && (len(o.extras) == 0 || !boots(s.Plan.Networks)):
		return ""
	case len(o.failed)+len(o.waiting)+len(o.unchanged) == 0:
		sentences = append(sentences, "Nodes can boot"+o.butLacking()+".")
	case boots(s.Plan.Networks):
		sentences = append(sentences, map[need]string{
			needOnNetwork: "Nodes on other networks can boot.", needAddress: "Nodes can boot.", needToJoin: "Nodes can become Ready.", needNone: "Nodes can become Ready."}[o.lacks()])
	}
	sentences = append(sentences, notServed(o.failed, ""), notChanged(o.unchanged), notServed(o.waiting, " yet"))
	return strings.Join(slices.DeleteFunc(sentences, func(x string) bool { return x == "" }), " ")
}

func (s Status) serving() string {
	var ready, down []network.Network
	for _, n := range s.Plan.Networks {
		if s.ReadyEdges[n.Name] > 0 {
			ready = append(ready, n)
		} else {
			down = append(down, n)
		}
	}
	switch {
	case len(s.Plan.Networks) == 0:
		return "no network is configured."
	case len(ready) == 0:
		return fmt.Sprintf("no edge is ready on %s (%s).", onNetworks(down), s.count())
	case len(down) > 0:
		return fmt.Sprintf("no edge is ready on %s; %s (%s).", onNetworks(down), servers(ready), s.count())
	}
	return fmt.Sprintf("%s (%s).", servers(ready), s.count())
}

// count returns a text about how many edges are ready on each network. An edge of one network cannot replace an edge of another.
func (s Status) count() string {
	order, groups := byWords(s.Plan.Networks, func(n network.Network) string {
		words := fmt.Sprintf("%d of %d edges", min(s.ReadyEdges[n.Name], len(n.Edges)), len(n.Edges))
		if len(n.Edges) == 1 {
			words = strings.TrimSuffix(words, "s")
		}
		return words
	})
	switch {
	case len(s.Plan.Networks) == 1:
		return order[0]
	case len(order) == 1:
		return order[0] + " on each network"
	}
	for i, words := range order {
		order[i] = words + " on " + networkNames(groups[words])
	}
	return strings.Join(order, ", ")
}

// byWords groups networks by their text. order has the texts in the order of their first network.
func byWords(all []network.Network, say func(network.Network) string) (order []string, groups map[string][]network.Network) {
	groups = map[string][]network.Network{}
	for _, n := range all {
		words := say(n)
		if groups[words] == nil {
			order = append(order, words)
		}
		groups[words] = append(groups[words], n)
	}
	return order, groups
}

func servers(all []network.Network) string {
	order, groups := byWords(all, func(n network.Network) string { return sentenceList(names(n.Services)) })
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
	var out []string
	for _, s := range network.AllServices() {
		if slices.Contains(services, s) {
			out = append(out, nameOf(s))
		}
	}
	return out
}

func nameOf(s network.Service) string {
	return map[network.Service]string{network.ServiceDHCP: "DHCP", network.ServiceDNS: "DNS", network.ServiceNTP: "NTP", network.ServiceProxy: "proxy"}[s]
}

// ServiceInWords returns a name for what s gives to VMs.
func ServiceInWords(s network.Service) string {
	if s == network.ServiceProxy {
		return "access to the control plane"
	}
	return nameOf(s)
}

// sentenceList returns "a, b and c" for three words.
func sentenceList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// onNetworks returns the names of one or two networks with their CIDRs, or the number of networks if there are more.
func onNetworks(all []network.Network) string {
	return namesOf(all, func(n network.Network) string { return fmt.Sprintf("%s (%s)", n.Attachment, n.CIDR) })
}

// networkNames returns the text of onNetworks without CIDRs.
func networkNames(all []network.Network) string {
	return namesOf(all, func(n network.Network) string { return n.Attachment.String() })
}

func namesOf(all []network.Network, name func(network.Network) string) string {
	switch len(all) {
	case 1:
		return "network " + name(all[0])
	case 2:
		return "networks " + name(all[0]) + " and " + name(all[1])
	}
	return fmt.Sprintf("%d networks", len(all))
}

// allowed returns a text about the external hosts that edges let VMs reach.
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
	gateways, everywhere := gateways(p)
	switch {
	case len(hosts) == 0 && gateways == "":
		return "No external hosts are allowed."
	case len(hosts) == 0 && everywhere:
		return fmt.Sprintf("Edges allow no external hosts; %s that traffic.", gateways)
	case len(hosts) == 0:
		return fmt.Sprintf("Edges allow no external hosts. %s that traffic.", capital(gateways))
	case gateways != "":
		gateways = fmt.Sprintf(" %s other traffic.", capital(gateways))
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
	return fmt.Sprintf("Allowed external hosts: %s%s.%s", strings.Join(hosts[:named], ", "), more, gateways)
}

// gateways returns a clause such as "gateway 192.168.100.1 carries". If only some of the networks that VMs boot from
// have a gateway, the clause names these networks. If all have one, everywhere is true.
func gateways(p network.Plan) (clause string, everywhere bool) {
	var addresses []string
	var on []network.Network
	everywhere = true
	for _, n := range p.Networks {
		switch r := n.DHCP.Router; {
		case !n.Primary:
		case !r.IsValid() || r == n.NextHopVIP:
			everywhere = false
		default:
			addresses, on = append(addresses, r.String()), append(on, n)
		}
	}
	switch {
	case len(on) == 0:
		return "", false
	case len(on) == 1:
		clause = "gateway " + addresses[0] + " carries"
	default:
		clause = "gateways " + sentenceList(addresses) + " carry"
	}
	if !everywhere {
		clause = fmt.Sprintf("on %s, %s", networkNames(on), clause)
	}
	return clause, everywhere
}
