// This file decides which names edges answer to pods of the management cluster. A pod that dials
// such a name reaches the Service behind it, and no edge. So a name is among them only if that
// Service has the port that is published.

package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// podView is the Name of the view of pods, also in metrics.
const podView = "pods"

// AnswersPods reports whether the edges of n answer DNS questions of pods.
func (n Network) AnswersPods() bool { return n.DNS.Pods.Name != "" }

// AnswersPods reports whether edges of p answer DNS questions of pods.
func (p Plan) AnswersPods() bool { return slices.ContainsFunc(p.Networks, Network.AnswersPods) }

// answerPods is p with the view of pods on each network that runs DNS if r asks for it, else
// without one. Retained networks are among them. Endpoints are those that exist now: the ClusterIP
// of a Service that is gone may be another one's by then.
func (p Plan) answerPods(r Request, endpoints []Endpoint) Plan {
	var view View
	if r.ManagementDNS {
		// The NetworkPolicy decides which pods may ask. Their addresses are not known.
		everyone := []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
		view = View{Name: podView, Clients: everyone, Records: podRecords(endpoints, r.ownNames()), OwnNamesOnly: true}
	}
	return p.withEach(func(n *Network) {
		n.DNS.Pods = View{}
		if n.runs(ServiceDNS) {
			n.DNS.Pods = view
		}
	})
}

// ownNames are the names whose addresses the user set.
func (r Request) ownNames() []string {
	names := []string{r.Apps.Name}
	for _, s := range r.Networks {
		for _, record := range s.Settings.Records {
			names = append(names, record.Name)
		}
	}
	return lowered(names)
}

// podRecords returns one record for each published name that leads to a ClusterIP at all its
// published ports. Neither wildcards nor names in own are among them. A name that HyperShift
// publishes is HyperShift's, as it is for VMs.
func podRecords(endpoints []Endpoint, own []string) []Record {
	at := map[string]netip.Addr{}
	hyperShifts := map[string]bool{}
	for _, e := range sortedEndpoints(endpoints) {
		for _, name := range lowered(e.Hosts) {
			if e.Origin != OriginHyperShift && hyperShifts[name] {
				continue
			}
			hyperShifts[name] = e.Origin == OriginHyperShift
			address := e.clusterIP()
			if other, has := at[name]; has && other != address {
				address = netip.Addr{}
			}
			at[name] = address
		}
	}
	var out []Record
	for name, address := range at {
		if address.IsValid() && !strings.HasPrefix(name, "*.") && !slices.Contains(own, name) {
			out = append(out, Record{Name: name, Addresses: []netip.Addr{address}})
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// clusterIP is the address at which e's Service has e's own port. Zero: it has none, or another port.
func (e Endpoint) clusterIP() netip.Addr {
	if e.Backend.Kind != BackendPods || e.Backend.Port != e.Port {
		return netip.Addr{}
	}
	return e.Backend.ClusterIP
}
