// This file decides the values of a network that several NodePools use. No NodePool has
// precedence over another one: what they have different values for is an Error.

package hcp

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// merge combines two requests for the same network. Different values are a problem:
// neither NodePool has precedence.
func merge(a, b merged) merged {
	if slices.Contains(a.NodePools, b.NodePools[0]) { // the NodePool lists the network twice
		a.VMs += b.VMs
		return a
	}
	out, other := a, b
	if b.listedFirst && !a.listedFirst {
		out, other = b, a
	}
	out.NodePools = append(slices.Clone(a.NodePools), b.NodePools...)
	out.otherRoute = append(slices.Clone(a.otherRoute), b.otherRoute...)
	out.withoutCIDR = append(slices.Clone(a.withoutCIDR), b.withoutCIDR...)
	out.withoutGateway = append(slices.Clone(a.withoutGateway), b.withoutGateway...)
	out.withoutClients = append(slices.Clone(a.withoutClients), b.withoutClients...)
	out.ownServices = a.ownServices || b.ownServices
	if a.listedFirst == b.listedFirst && b.Settings.Selects(network.ServiceNTP) && !a.Settings.Selects(network.ServiceNTP) {
		out.Settings.Services = b.Settings.Services
	}
	out.Primary, out.VMs = a.Primary || b.Primary, a.VMs+b.VMs
	problems := slices.Concat(a.problems, b.problems)
	disagree := func(c network.Cause, args network.Args, keys ...string) {
		all := network.Args{"nodePools": strings.Join(a.NodePools, ", "), "otherNodePool": b.NodePools[0]}
		maps.Copy(all, args)
		problems = append(problems, networkProblem(c, a.Attachment, all, keys...))
	}
	if keys := differing(a.Settings, b.Settings); a.listedFirst == b.listedFirst && len(keys) > 0 {
		disagree(network.NodePoolSettingsDiffer, nil, keys...)
		problems[len(problems)-1].Subject = network.Subject{Kind: string(settings.OnNodePool), Name: b.NodePools[0]}
	}
	switch {
	case !out.CIDR.IsValid():
		out.CIDR, out.CIDRField, out.CIDRKeys = other.CIDR, other.CIDRField, other.CIDRKeys
	case other.CIDR.IsValid() && a.CIDR != b.CIDR:
		disagree(network.NodePoolValuesDiffer, network.Args{"value": a.CIDR.String(), "otherValue": b.CIDR.String()}, settings.KeyCIDR)
	}
	switch {
	case !out.Gateway.IsValid():
		out.Gateway = other.Gateway
	case other.Gateway.IsValid() && a.Gateway != b.Gateway:
		disagree(network.NodePoolValuesDiffer, network.Args{"value": a.Gateway.String(), "otherValue": b.Gateway.String()}, settings.KeyGateway)
	}
	switch own, others := out.Settings.ClientNetworks, other.Settings.ClientNetworks; {
	case len(own) == 0:
		out.Settings.ClientNetworks = others
	case len(others) > 0 && !slices.Equal(sortedText(own, true), sortedText(others, true)):
		disagree(network.NodePoolValuesDiffer, network.Args{"value": prefixesText(a.Settings.ClientNetworks), "otherValue": prefixesText(b.Settings.ClientNetworks)}, settings.KeyClients)
	}
	out.problems = problems
	return out
}

// overriding returns a problem if some NodePools on s have value own of the annotation key, and
// others, without, have none, so that the HostedCluster's value applies to these.
func (s merged) overriding(key, own, ofCluster string, without []string) network.Problems {
	if len(without) == 0 || own == ofCluster {
		return nil
	}
	with := slices.DeleteFunc(slices.Clone(s.NodePools), func(np string) bool { return slices.Contains(without, np) })
	return network.Problems{networkProblem(network.NodePoolOverridesOthers, s.Attachment, network.Args{
		"nodePools": strings.Join(with, ", "), "otherNodePool": strings.Join(without, ", "), "value": own, "otherValue": ofCluster}, key)}
}

// differing returns the annotation keys whose values have different meanings in a and b. A
// default means the same as no value, and the order of servers, ranges and reservations has no
// meaning. Nor has NTP, which edges run if either value has it: a release without it took these
// values for equal.
func differing(a, b network.Settings) []string {
	var keys []string
	compare := func(key string, x, y any) {
		if !reflect.DeepEqual(x, y) {
			keys = append(keys, key)
		}
	}
	compare(settings.KeyServices, meantServices(a), meantServices(b))
	compare("lease-time", cmp.Or(a.LeaseTime, network.DefaultLeaseTime), cmp.Or(b.LeaseTime, network.DefaultLeaseTime))
	compare("edge-addresses", sortedText(a.EdgeAddresses, false), sortedText(b.EdgeAddresses, false))
	compare("dhcp-range", a.DHCPRange, b.DHCPRange)
	compare("dhcp-exclude", sortedText(a.DHCPExclude, true), sortedText(b.DHCPExclude, true))
	compare("reservations", sortedText(a.Reservations, true), sortedText(b.Reservations, true))
	compare("mtu", a.MTU, b.MTU)
	compare("ntp-servers", sortedText(a.NTPServers, true), sortedText(b.NTPServers, true))
	compare("dhcp-relays", sortedText(a.DHCPRelays, true), sortedText(b.DHCPRelays, true))
	compare("search-domains", sortedText(a.SearchDomains, false), sortedText(b.SearchDomains, false))
	compare("dns-upstreams", a.Upstreams, b.Upstreams)
	compare("dns-records", sortedText(a.Records, true), sortedText(b.Records, true))
	compare("unknown-clients", a.IgnoreUnknownClients, b.IgnoreUnknownClients)
	return keys
}

// meantServices are the services that s selects, without NTP.
func meantServices(s network.Settings) []string {
	return sortedText(slices.DeleteFunc(network.AllServices(), func(x network.Service) bool {
		return x == network.ServiceNTP || !s.Selects(x)
	}), true)
}

// prefixesText returns a value of annotation client-networks.
func prefixesText(all []netip.Prefix) string { return strings.Join(sortedText(all, true), ",") }

// sortedText returns the elements of in as text, each once. They are sorted if their order has no
// meaning.
func sortedText[T any](in []T, sorted bool) []string {
	out := []string{}
	for _, x := range in {
		out = append(out, fmt.Sprint(x))
	}
	if sorted {
		slices.Sort(out)
	}
	return slices.Compact(out)
}
