// This file decides which names edges answer to pods of the management cluster. A pod that dials such a name connects
// to the Service behind it, not to an edge. So a name is answered only if the Service has the published port.

package derive

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// podView is the Name of the view of pods, a label of metrics.
const podView = "pods"

// answerPods sets the view of pods on each network that runs DNS, if r asks for it. endpoints are those that exist now:
// another Service may get the ClusterIP of a deleted one.
func answerPods(p network.Plan, r network.Request, endpoints []network.Endpoint) network.Plan {
	var view network.View
	if r.ManagementDNS {
		// The NetworkPolicy decides which pods may ask. Their addresses are not known.
		everyone := []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
		view = network.View{Name: podView, Clients: everyone, Records: podRecords(endpoints, ownNames(r)), OwnNamesOnly: true}
	}
	return p.WithEach(func(n *network.Network) {
		n.DNS.Pods = network.View{}
		if n.Runs(network.ServiceDNS) {
			n.DNS.Pods = view
		}
	})
}

func ownNames(r network.Request) []string {
	names := []string{r.Apps.Name}
	for _, s := range r.Networks {
		for _, record := range s.Settings.Records {
			names = append(names, record.Name)
		}
	}
	return network.Lowered(names)
}

// podRecords returns a record for each published name with one ClusterIP that has all published ports of the name. It
// leaves out wildcards and names in own. If HyperShift and another origin publish one name, HyperShift's endpoint
// counts, as it does in answers to VMs.
func podRecords(endpoints []network.Endpoint, own []string) []network.Record {
	at := map[string]netip.Addr{}
	hyperShifts := map[string]bool{}
	for _, e := range network.SortedEndpoints(endpoints) {
		for _, name := range network.Lowered(e.Hosts) {
			if e.Origin != network.OriginHyperShift && hyperShifts[name] {
				continue
			}
			hyperShifts[name] = e.Origin == network.OriginHyperShift
			address := e.ClusterIP()
			if other, has := at[name]; has && other != address {
				address = netip.Addr{}
			}
			at[name] = address
		}
	}
	var out []network.Record
	for name, address := range at {
		if address.IsValid() && !strings.HasPrefix(name, "*.") && !slices.Contains(own, name) {
			out = append(out, network.Record{Name: name, Addresses: []netip.Addr{address}})
		}
	}
	slices.SortFunc(out, func(a, b network.Record) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
