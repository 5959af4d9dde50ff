// This file reports what the annotation management-access opens on a network, and to which callers. It is pure.

package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
)

// An Access lists what annotation management-access opens on a network: destinations that pods of the management cluster
// reach through the access proxy of edges, and load balancers.
type Access struct {
	// Proxy is the URL of the access proxy, which accepts HTTP CONNECT. Empty: only load balancers are open.
	Proxy        string              `json:"proxy,omitempty"`
	Destinations []statusDestination `json:"destinations"`
	// Namespaces are the namespaces whose pods are certainly admitted, by the NetworkPolicies of oooi or of HyperShift.
	Namespaces []string `json:"namespaces"`
	// Accounts are the ServiceAccounts whose tokens are accepted. Empty: callers need no token. Audience is the audience
	// of the tokens.
	Accounts []string `json:"accounts"`
	Audience string   `json:"audience,omitempty"`
	// LoadBalancers is null if annotation management-access does not open load balancers.
	LoadBalancers []statusBalanced `json:"loadBalancers"`
	// LoadBalancersOnOtherNetwork is true if load balancers forward to edges of another network.
	LoadBalancersOnOtherNetwork bool `json:"loadBalancersOnOtherNetwork,omitempty"`
}

type statusDestination struct {
	// Name is the host and port that a caller names.
	Name   string `json:"name"`
	Target string `json:"target"`
	// PlainTCP is the host and port of a Service for clients without HTTP CONNECT. Empty: there is none.
	PlainTCP string `json:"plainTCP,omitempty"`
}

// A statusBalanced is a Service of type LoadBalancer in the control plane namespace, for a Service of the hosted cluster.
type statusBalanced struct {
	Service string `json:"service"`
	// HostedService is NAMESPACE/NAME in the hosted cluster. Empty: HyperShift made the Service for the ingress
	// itself (base domain passthrough).
	HostedService string `json:"hostedService,omitempty"`
	// Ports are the node ports.
	Ports           []uint16       `json:"ports"`
	ForwardsToEdges explain.Answer `json:"forwardsToEdges"`
	// Edges are the numbers of those ready edges that report each port in Ports as open.
	Edges []int `json:"edges"`
}

// access returns what callers reach on n, network i of the plan. It returns nil if n opens nothing.
func (f Facts) access(i int, n network.Network) *Access {
	a := n.Access
	if !a.Opens() && a.LoadBalancers == nil {
		return nil
	}
	out := &Access{Destinations: []statusDestination{}, Namespaces: []string{}, Accounts: append([]string{}, a.Accounts...), Audience: a.Audience}
	if a.Opens() {
		service := f.Plan.AccessService(i) + "." + f.ControlPlane + ".svc"
		out.Proxy = fmt.Sprintf("http://%s:%d", service, a.Port)
		out.Namespaces = append([]string{f.ControlPlane}, a.Namespaces...)
		for _, d := range a.Destinations {
			x := statusDestination{Name: fmt.Sprintf("%s:%d", d.Name, d.Port), Target: explain.Destination(d)}
			if d.Listen != 0 {
				x.PlainTCP = fmt.Sprintf("%s:%d", service, d.Listen)
			}
			out.Destinations = append(out.Destinations, x)
		}
	}
	if a.LoadBalancers == nil {
		return out
	}
	out.LoadBalancers, out.LoadBalancersOnOtherNetwork = []statusBalanced{}, !a.LoadBalancers.Here
	for _, s := range a.LoadBalancers.Services {
		out.LoadBalancers = append(out.LoadBalancers, statusBalanced{s.Name, s.HostedService, s.Ports, answerIn(f.Led, s.Name), f.listen(n, s.Ports)})
	}
	return out
}

func (f Facts) listen(n network.Network, ports []uint16) []int {
	out := []int{}
	for _, e := range n.Edges {
		open := f.Reports[wire.EdgeReportLease(n, e).Name].Balanced
		closed := func(p uint16) bool { return !slices.Contains(open, p) }
		if f.ReadyEdge(n, e) == explain.Yes && !slices.ContainsFunc(ports, closed) {
			out = append(out, e.Number)
		}
	}
	return out
}

// text writes a. If a is nil, it writes nothing. If there are more than manyRows load balancers and parameter all is
// false, it lists at most manyRows: those that are not known to forward to edges.
func (a *Access) text(w io.Writer, all bool) {
	if a == nil {
		return
	}
	if a.Proxy != "" {
		var rows [][]string
		for _, d := range a.Destinations {
			rows = append(rows, []string{d.Name, d.Target, cmp.Or(d.PlainTCP, "-")})
		}
		table(w, "OPEN TO CALLERS\tTARGET\tPLAIN TCP", rows)
		command.Line(w, "  Callers use %s. %s", a.Proxy, a.callers())
		command.Line(w, "  %s", a.Token())
	}
	if a.LoadBalancers == nil {
		return
	}
	var rows, pending [][]string
	for _, b := range a.LoadBalancers {
		row := []string{b.HostedName(), b.Service, Joined(b.Ports), string(b.ForwardsToEdges), cmp.Or(Joined(b.Edges), "none")}
		if rows = append(rows, row); b.ForwardsToEdges != explain.Yes {
			pending = append(pending, row)
		}
	}
	longTable(w, "LOAD BALANCER\tSERVICE\tNODE PORTS\tFORWARDS TO EDGES\tOPEN AT EDGES", all, rows, pending,
		fmt.Sprintf("%d load balancers: %d are not known to forward to edges", len(rows), len(pending)))
	command.Line(w, "  %s", a.Balanced())
}

// callers says in sentences which pods are admitted.
func (a *Access) callers() string {
	return "Pods of these namespaces are admitted: " + strings.Join(a.Namespaces, ", ") + ", " + explain.AlsoAdmitted + "."
}

// Token says in a sentence whether callers need a token.
func (a *Access) Token() string {
	if len(a.Accounts) == 0 {
		return "Callers need no token."
	}
	return "Callers need a token of " + strings.Join(a.Accounts, ", ") + " for audience " + a.Audience + "."
}

// Balanced says in a sentence which clients reach what through load balancers.
func (a *Access) Balanced() string {
	switch {
	case a.LoadBalancersOnOtherNetwork:
		return "Load balancers of the hosted cluster forward to edges of another network."
	case len(a.LoadBalancers) == 0:
		return "The hosted cluster has no load balancer that can forward to edges."
	}
	return "Anyone who reaches a load balancer reaches VMs with a DHCP lease."
}

// HostedName returns b's name in the hosted cluster.
func (b statusBalanced) HostedName() string { return cmp.Or(b.HostedService, "the ingress") }

// Joined returns numbers separated by commas.
func Joined[T int | uint16](all []T) string {
	var out []string
	for _, x := range all {
		out = append(out, strconv.Itoa(int(x)))
	}
	return strings.Join(out, ", ")
}
