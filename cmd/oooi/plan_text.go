// This file writes a plan for people. It decides nothing.

package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cldmnky/oooi/network"
)

func writePlan(w io.Writer, p planned) {
	fmt.Fprintf(w, "HostedCluster %s: %s\n", p.Cluster, verdict(p.Problems))
	if p.Plan != nil {
		for _, n := range p.Plan.Networks {
			writeNetwork(w, n)
		}
	}
	for _, problem := range p.Problems.ByUrgency() {
		fmt.Fprintf(w, "\n  %s %s\n    at %s\n    %s\n", weight(problem), problem.Reason, problem.Field, problem.Detail)
	}
}

func verdict(ps network.Problems) string {
	switch {
	case ps.Blocking():
		return "refused, nothing would be applied"
	case ps.Waiting():
		return "waits; this is what is known"
	case len(ps) > 0:
		return "would be served, with limits"
	}
	return "would be served"
}

// weight is how a problem is marked.
func weight(p network.Problem) string { return [...]string{"REFUSED", "WAITS", "NOTE"}[p.Urgency()] }

func writeNetwork(out io.Writer, n network.Network) {
	fmt.Fprintf(out, "\n  Network %s (%s), NodePools %s\n", n.Attachment, kind(n.Attachment), strings.Join(n.NodePools, ", "))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	row := func(what string, text ...string) {
		for i, t := range text {
			if i > 0 {
				what = ""
			}
			fmt.Fprintf(w, "    %s\t%s\n", what, t)
		}
	}
	row("CIDR", n.CIDR.String())
	row("next hop", n.NextHop.String()+", by which machines reach what is below")
	row("service address", n.ServiceAddress.String()+", where DNS and the names below answer")
	for _, e := range n.Edges {
		row(fmt.Sprintf("edge %d", e.Number), e.Address.String())
	}
	for _, a := range n.ReservedAddresses {
		row("kept", a.String()+", for a second edge")
	}
	for _, a := range n.PublishedAddresses {
		row("published", a.String()+", held by every edge")
	}
	row("DHCP", dhcpLines(n)...)
	row("names", nameLines(n)...)
	row("connections", connectionLines(n)...)
}

func kind(a network.Attachment) string {
	k := a.Kind
	if k == "" {
		k = "kind not known"
	}
	if a.VLAN != 0 {
		k += fmt.Sprintf(", VLAN %d", a.VLAN)
	}
	return k
}

func dhcpLines(n network.Network) []string {
	d := n.DHCP
	lines := []string{fmt.Sprintf("%s to machines, for %s at a time", d.Range, time.Duration(d.LeaseTime))}
	if d.Router.IsValid() {
		router := "the next hop: the network stays isolated"
		if d.Router != n.NextHop {
			router = "the gateway that you named"
		}
		lines = append(lines, fmt.Sprintf("router %s, %s", d.Router, router))
	} else {
		lines = append(lines, "an address only: no router, no DNS")
	}
	for _, r := range d.Reservations {
		lines = append(lines, fmt.Sprintf("%s reserved for %s", r.Address, r.MAC))
	}
	for _, x := range d.Exclude {
		lines = append(lines, fmt.Sprintf("%s never given out", x))
	}
	return lines
}

func nameLines(n network.Network) []string {
	var lines []string
	for _, v := range n.DNS.Views {
		for _, r := range v.Records {
			lines = append(lines, r.Name+" -> "+join(r.Addresses))
		}
	}
	switch n.DNS.Upstreams.Mode {
	case network.UpstreamManagement:
		return append(lines, "other names: asked of the management cluster's resolver")
	case network.UpstreamServers:
		return append(lines, fmt.Sprintf("other names: asked of %v", n.DNS.Upstreams.Servers))
	}
	return append(lines, "other names: refused")
}

func connectionLines(n network.Network) []string {
	var lines []string
	for _, l := range n.Listeners {
		for _, f := range l.Forwards {
			lines = append(lines, fmt.Sprintf("%s, server name %s -> Service %s", l.Name(), strings.Join(f.ServerNames, ", "), f.Backend))
		}
		what := "everything"
		if len(l.Forwards) > 0 {
			what = "everything else"
		}
		if l.Default == "" {
			lines = append(lines, fmt.Sprintf("%s, %s -> closed", l.Name(), what))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s, %s -> Service %s", l.Name(), what, l.Default))
	}
	if len(lines) == 0 {
		return []string{"none"}
	}
	return lines
}

func join(addresses []netip.Addr) string {
	var s []string
	for _, a := range addresses {
		s = append(s, a.String())
	}
	return strings.Join(s, ", ")
}
