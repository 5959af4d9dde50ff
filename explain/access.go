// This file renders what pods of the management cluster can reach, and which pods can.

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// standing returns the lines that a condition always has, about what is open (at most maxOpen) and about other
// clusters, and all other problems. What is open to anyone comes first.
func (r Report) standing() (lines []string, others []ReportProblem) {
	const maxOpen, maxOpenLine = 2, 600
	var open []ReportProblem
	var shared []string
	for _, p := range r.Problems {
		switch {
		case p.Reason == problem.NetworkShared && p.Level() == problem.SeverityInfo:
			shared = append(shared, p.line())
		case p.Reason != problem.AccessOpened:
			others = append(others, p)
		case p.Cause == problem.LoadBalancersOpen:
			open = slices.Insert(open, 0, p)
		default:
			open = append(open, p)
		}
	}
	for _, p := range open {
		if len(lines) == maxOpen {
			lines[maxOpen-1] = "Info AccessOpened: Management access is open on further networks, too. oooi plan lists all of it."
			break
		}
		lines = append(lines, Shorten(p.line(), maxOpenLine))
	}
	return append(lines, shared...), others
}

// opened returns rows about what is open: one for each destination, then how callers reach them, and which callers may.
func (v view) opened() []row {
	a := v.n.Access
	if !a.Opens() {
		return v.balanced()
	}
	ns := v.Plan.Cluster.ControlPlaneNamespace
	service := v.accessService() + "." + ns + ".svc"
	var rows []row
	for _, d := range a.Destinations {
		where := Destination(d)
		if d.Listen != 0 {
			where += fmt.Sprintf(", also plain TCP at %s:%d", service, d.Listen)
		}
		rows = append(rows, row{fmt.Sprintf("%s:%d", d.Name, d.Port), where})
	}
	callers := "pods of namespaces " + strings.Join(slices.Concat([]string{ns}, a.Namespaces), ", ") + v.from(network.KeyAccessFrom)
	token := "not needed" + v.from(network.KeyAccessBy)
	if len(a.Accounts) > 0 {
		token = fmt.Sprintf("of %s, for audience %s%s", strings.Join(a.Accounts, ", "), a.Audience, v.from(network.KeyAccessBy))
	}
	return append(append(rows,
		row{"through", fmt.Sprintf("HTTP CONNECT at http://%s:%d%s", service, a.Port, v.from(network.KeyAccess))},
		row{"callers", callers}, row{"", AlsoAdmitted},
		row{"token", token}), v.balanced()...)
}

func (v view) balanced() []row {
	balanced := v.n.Access.LoadBalancers
	if balanced == nil {
		return nil
	}
	title := "loadbalancers"
	if !balanced.Here {
		return []row{{title, "forward to edges of another network" + v.from(network.KeyAccess)}}
	}
	rows := []row{{title, "anyone who reaches one of these Services reaches VMs with a DHCP lease" + v.from(network.KeyAccess)}}
	for _, s := range balanced.Services {
		var ports []string
		for _, p := range s.Ports {
			ports = append(ports, strconv.Itoa(int(p)))
		}
		rows = append(rows, row{"", fmt.Sprintf("%s (%s) -> VMs, node port %s", cmp.Or(s.HostedService, "the ingress"), s.Name, strings.Join(ports, ", "))})
	}
	if len(balanced.Services) == 0 {
		rows = append(rows, row{"", "none exists yet"})
	}
	return rows
}

func (v view) accessService() string {
	return v.Plan.AccessService(slices.IndexFunc(v.Plan.Networks, func(n network.Network) bool { return n.Name == v.n.Name }))
}

// AlsoAdmitted are callers that are admitted in addition to management-access-from.
const AlsoAdmitted = "and those of the ingress and of monitoring, which HyperShift's own policies admit"

// Destination returns a text for what callers of d reach.
func Destination(d network.AccessDestination) string {
	names := ""
	if len(d.Names) > 0 {
		names = strings.Join(d.Names, ", ") + " -> "
	}
	switch {
	case len(d.Addresses) > 0:
		return names + network.AddressList(d.Addresses)
	case d.TargetPort != 0:
		return fmt.Sprintf("%sVMs with a DHCP lease, at port %d", names, d.TargetPort)
	}
	return "each VM of the cluster with a DHCP lease"
}
