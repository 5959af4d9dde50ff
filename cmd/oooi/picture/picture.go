// This file derives the picture of `oooi map` from facts. It is pure. File layout.go places the parts.

package picture

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
)

// mostVMs is the largest number of VMs that a picture shows. The others are counted.
const mostVMs = 12

// A picture shows one hosted cluster.
type picture struct {
	Cluster  string
	Networks []pictured
}

// A pictured shows one network: VMs, edges, what VMs reach through them, and what edges refuse. Below, it shows the same for
// callers in the management cluster, to which management access opens destinations.
type pictured struct {
	Name, CIDR string
	VMs, Edges []shown
	// Serves are the addresses and servers of edges that VMs use, without the proxy.
	Serves []shown
	Ports  []port
	// Refused says in sentences which connections of VMs edges refuse.
	Refused []string
	// Callers are the clients that may connect through edges, and Opens are the addresses that they dial. RefusedToCaller
	// says in sentences what edges refuse to callers. Without management access, all three fields are empty.
	Callers         []shown
	Opens           []port
	RefusedToCaller []string
}

type shown struct {
	Name, Note string
	// Why explains the thing in sentences, for SVG and HTML.
	Why   string
	State state
}

// A state says whether a thing works.
type state string

const (
	good    state = "good"
	bad     state = "bad"
	unknown state = "unknown"
)

// A port is an address that VMs or callers connect to, with all backends behind it.
type port struct {
	Address string
	Paths   []path
}

// A path leads from the names that a client uses to one backend.
type path struct {
	// Names are the names that a client uses, or words for all names that no other path of the port has.
	Names   []string
	Backend shown
	// Outside is true if the backend is an allowed host outside the management cluster.
	Outside bool
	// Direct is true if VMs connect without edges.
	Direct bool
}

func pictureOf(r status.Output, plan network.Plan) picture {
	out := picture{Cluster: r.Cluster}
	for i, n := range plan.Networks {
		known := r.Networks[i]
		out.Networks = append(out.Networks, pictured{
			Name: known.Name, CIDR: n.CIDR.String(), VMs: append(vmsOf(n, known), clientsOf(n)...), Edges: edgesOf(known), Serves: servesOf(n),
			Ports: append(portsOf(known), directOf(plan, n)...), Refused: refusedOf(n),
			Callers: callersOf(known.Access), Opens: opensOf(known.Access), RefusedToCaller: refusedTo(known.Access),
		})
	}
	return out
}

// vmsOf returns the VMs of n that have a DHCP lease. If there are none, it returns the DHCP pool.
func vmsOf(n network.Network, known status.Network) (out []shown) {
	for _, l := range known.Leases {
		if l.State != "assigned" {
			continue
		}
		name := l.VM
		if name == "" {
			name = l.MAC
		}
		out = append(out, shown{l.Address.String(), name, fmt.Sprintf("%s has a DHCP lease for %s, MAC %s.", name, l.Address, l.MAC), good})
	}
	if len(out) > mostVMs {
		more := len(out) - mostVMs
		out = append(out[:mostVMs], shown{fmt.Sprintf("and %d more", more), "", fmt.Sprintf("%d more clients have a lease.", more), good})
	}
	switch {
	case len(out) > 0:
	case n.DHCP.Range.First.IsValid():
		out = []shown{{n.DHCP.Range.String(), "pool", "VMs get an address of this range by DHCP.", unknown}}
	default:
		out = []shown{{n.CIDR.String(), "no DHCP of oooi", "Another DHCP server gives VMs their addresses.", unknown}}
	}
	return out
}

func edgesOf(known status.Network) (out []shown) {
	for _, e := range known.Edges {
		x := shown{fmt.Sprintf("edge %d", e.Number), e.Address.String(), fmt.Sprintf("Deployment %s has address %s.", e.Deployment, e.Address), stateOfAnswer(e.Ready)}
		switch e.Ready {
		case explain.Yes:
			x.Note += ", ready"
		case explain.No:
			x.Note += ", NOT READY"
			x.Why += " It is not ready."
		}
		if e.NotServing != "" {
			x.Why += " It does not serve: " + e.NotServing + "."
		}
		if e.CarriesVMs == explain.Yes {
			x.Note += ", carries VMs"
			x.Why += " VMs use it now."
		}
		out = append(out, x)
	}
	return out
}

func stateOfAnswer(a explain.Answer) state {
	switch a {
	case explain.Yes:
		return good
	case explain.No:
		return bad
	}
	return unknown
}

func servesOf(n network.Network) []shown {
	out := []shown{
		{"next-hop VIP", n.NextHopVIP.String(), "Each edge has this address. VMs route through it to the addresses of edges. Edges forward nothing.", unknown},
		{"service VIP", n.ServiceVIP.String(), "Each edge has this address. The servers below answer there.", unknown},
	}
	add := func(s network.Service, name, note, why string) {
		if slices.Contains(n.Services, s) {
			out = append(out, shown{name, note, why, unknown})
		}
	}
	dhcp := n.DHCP.Range.String()
	if !n.Primary {
		dhcp += ", no router and no routes"
	}
	add(network.ServiceDHCP, "DHCP", dhcp, "Edges give VMs addresses of this range.")
	add(network.ServiceDNS, "DNS", "names of the hosted cluster, "+upstreamOf(n), "Edges answer names of the hosted cluster themselves.")
	add(network.ServiceNTP, "NTP", "clocks of the edges' nodes", "Edges serve the time of the node that they run on.")
	return out
}

func upstreamOf(n network.Network) string {
	switch n.DNS.Upstreams.Mode {
	case network.UpstreamManagement:
		return "then the management cluster's resolver"
	case network.UpstreamServers:
		return "then " + strings.Join(network.Texts(n.DNS.Upstreams.Servers), ", ")
	}
	return "all others refused"
}

func portsOf(known status.Network) (out []port) {
	add := func(t status.Target, outside bool) {
		b := shown{Name: t.Backend, Note: t.Health, Why: "Envoy connects to " + t.Backend + " in the control plane namespace. Health: " + t.Health + ".", State: bad}
		if outside {
			b.Why = "Envoy connects to " + t.Backend + ", outside the management cluster. Health: " + t.Health + "."
		}
		switch t.State {
		case status.StateFine:
			b.Note, b.State = "", good
		case status.StateUnknown:
			b.Note, b.State = "", unknown
		}
		i := slices.IndexFunc(out, func(p port) bool { return p.Address == t.Address.String() })
		if i < 0 {
			i, out = len(out), append(out, port{Address: t.Address.String()})
		}
		out[i].Paths = append(out[i].Paths, path{Names: t.Names, Backend: b, Outside: outside})
	}
	for _, t := range known.Endpoints {
		add(t, false)
	}
	for _, t := range known.Hosts {
		add(t, true)
	}
	for _, p := range out {
		slices.SortStableFunc(p.Paths, func(a, b path) int { return cmp.Compare(min(1, len(b.Names)), min(1, len(a.Names))) })
		if last := &p.Paths[len(p.Paths)-1]; len(p.Paths) == 1 && len(last.Names) == 0 {
			last.Names = []string{"every connection"}
		} else if len(last.Names) == 0 {
			last.Names = []string{"any other name"}
		}
	}
	return out
}

// refusedOf says what VMs cannot reach. If the network has a gateway, the gateway decides about all other addresses.
func refusedOf(n network.Network) []string {
	out := []string{"Every other address: there is no route, and edges forward nothing."}
	if n.Reach().Gateway.IsValid() {
		out = nil
	}
	if len(n.Listeners) > 0 {
		out = append(out, "Every other port and TLS server name: edges close the connection.")
	}
	if len(n.ReservedDestinations) > 0 {
		text := "Edges never dial these for an allowed host or a DNS server: " + joinPrefixes(n.ReservedDestinations) + "."
		if len(n.PermittedDestinations) > 0 {
			text += " Permitted among them: " + joinPrefixes(n.PermittedDestinations) + "."
		}
		out = append(out, text)
	}
	return out
}

func joinPrefixes(all []netip.Prefix) string {
	return strings.Join(network.Texts(all), ", ")
}
