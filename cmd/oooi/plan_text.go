// This file writes a plan for people. It decides nothing.

package main

import (
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cldmnky/oooi/network"
)

func writePlan(w io.Writer, p planned) {
	fmt.Fprintf(w, "HostedCluster %s: %s\n", p.Cluster, verdict(p))
	for _, r := range p.remarks {
		fmt.Fprintf(w, "  %s\n", r)
	}
	where := true // whether no network says where it will be
	if p.Plan != nil {
		for _, n := range p.Plan.Networks {
			where = where && !n.Primary
			writeNetwork(w, p, n)
		}
		if len(p.Plan.Networks) == 0 {
			fmt.Fprintln(w, "\n  No network would be served as it is.")
		}
	}
	writeProblems(w, p.Problems, where)
}

func verdict(p planned) string {
	ps := p.Problems
	waits := slices.ContainsFunc(ps, func(x network.Problem) bool { return urgency(x) == network.Waits })
	but := ""
	if ps.Has(network.ImagesUnreachable) {
		but = ", but its nodes may never be Ready: they can't pull all of their images (ImagesUnreachable)"
	}
	switch {
	case ps.Blocking():
		return "refused, nothing would be applied"
	case waits && !p.created:
		return "not created yet; this is what it would get" + but
	case waits:
		return "waits; this is what is known" + but
	case but != "":
		return "would be served" + but
	case len(ps) > 0:
		return "would be served, with limits"
	}
	return "would be served"
}

func writeNetwork(out io.Writer, p planned, n network.Network) {
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
	if n.Primary {
		row("machines", "boot by it, and reach all they need by it")
	} else {
		row("machines", "have it as a further network: they get an address there, and no router, DNS or routes")
	}
	row("servers", servers(n, p.Plan.Cluster.ControlPlaneNamespace)+onNodes(p.nodes))
	row("CIDR", n.CIDR.String())
	if n.Primary {
		row("next hop", n.NextHop.String()+", the router by which machines reach the service address")
		row("service address", n.ServiceAddress.String()+serviceWords(n))
	} else {
		row("next hop", n.NextHop.String()+", reserved: nothing uses it on a further network")
		row("service address", n.ServiceAddress.String()+", as whom DHCP answers")
	}
	for _, e := range n.Edges {
		row(fmt.Sprintf("edge %d", e.Number), e.Address.String())
	}
	for _, a := range n.ReservedAddresses {
		row("reserved", a.String()+", for a second edge")
	}
	for _, a := range n.PublishedAddresses {
		row("published", a.String()+", a bare IP at which HyperShift publishes: every edge holds it, and DHCP tells machines to reach it by the next hop")
	}
	row("DHCP", dhcpLines(p, n)...)
	if !n.Primary {
		return
	}
	expected := awaiting(p.Problems)
	row("names", nameLines(n, p.Plan.Endpoints, len(expected) > 0)...)
	row("connections", connectionLines(n, p.Intent, len(expected) > 0)...)
	row("expected", expectedLines(expected)...)
	row("let through", throughLines(n)...)
}

// serviceWords say what answers at the service address.
func serviceWords(n network.Network) string {
	if !slices.Contains(n.Services, network.ServiceDNS) {
		return ", the place for names that machines dial"
	}
	return ", where DNS answers, and what the names lead to"
}

// servers are what runs, and where.
func servers(n network.Network, namespace string) string {
	var all []string
	for _, s := range n.Services {
		all = append(all, string(s))
	}
	pods := "one pod (edge)"
	if len(n.Edges) > 1 {
		pods = fmt.Sprintf("each of %d pods (edges)", len(n.Edges))
	}
	return fmt.Sprintf("%s, in %s in namespace %s", strings.Join(all, ", "), pods, namespace)
}

// onNodes are the nodes that the user chose for edges, by their labels.
func onNodes(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	if len(all) == 0 {
		return ""
	}
	return ", on nodes with " + strings.Join(all, ", ")
}

func kind(a network.Attachment) string {
	k := a.Kind
	if k == "" {
		k = "its definition is not given"
	}
	if a.VLAN != 0 {
		k += fmt.Sprintf(", VLAN %d", a.VLAN)
	}
	return k
}

func dhcpLines(p planned, n network.Network) []string {
	if !slices.Contains(n.Services, network.ServiceDHCP) {
		return []string{"not ours: the annotation services leaves it out"}
	}
	d := n.DHCP
	lines := []string{fmt.Sprintf("%s to machines, for %s at a time", d.Range, plain(time.Duration(d.LeaseTime)))}
	switch {
	case d.IgnoreUnknownClients:
		lines = append(lines, "who is not a machine of this cluster gets no answer")
	case d.KeptForMachines > 0:
		lines = append(lines, keptLine(p, n))
	}
	if d.Router.IsValid() {
		router := "the next hop: the network stays isolated"
		if d.Router != n.NextHop {
			router = "the gateway that you named"
		}
		lines = append(lines, fmt.Sprintf("router %s, %s", d.Router, router))
	}
	if len(d.DNSServers) > 0 && !slices.Contains(d.DNSServers, n.ServiceAddress) {
		lines = append(lines, "DNS server "+join(d.DNSServers)+", which is not ours")
	}
	if len(d.SearchDomains) > 1 || len(d.SearchDomains) == 1 && d.SearchDomains[0] != d.DomainName {
		lines = append(lines, "search domains "+strings.Join(d.SearchDomains, ", "))
	}
	if len(d.Relays) > 0 {
		lines = append(lines, "also to machines behind relay "+join(d.Relays)+", and behind no other")
	}
	if len(d.NTPServers) > 0 {
		lines = append(lines, "time from "+join(d.NTPServers))
	}
	if d.MTU != 0 {
		lines = append(lines, fmt.Sprintf("MTU %d", d.MTU))
	}
	for _, r := range d.Reservations {
		lines = append(lines, fmt.Sprintf("%s reserved for %s", r.Address, r.MAC))
	}
	for _, x := range d.Exclude {
		lines = append(lines, fmt.Sprintf("%s never given out", x))
	}
	return lines
}

// keptLine says how many addresses strangers never get, and for which machines.
func keptLine(p planned, n network.Network) string {
	kept, most, size := n.DHCP.KeptForMachines, 0, 0
	for _, s := range p.Intent.Segments {
		if s.Attachment == n.Attachment {
			most = s.Machines
		}
	}
	for _, np := range n.NodePools {
		size += p.sizes[np]
	}
	switch {
	case kept < most:
		return fmt.Sprintf("all of them kept for this cluster's own machines, and fewer than the %d that there may be", most)
	case size > 0 && size < kept:
		return fmt.Sprintf("%d of them kept for this cluster's own machines: %d, and %d during an update", kept, size, kept-size)
	}
	return fmt.Sprintf("%d of them kept for this cluster's own machines", kept)
}

// plain is d without the zeros that Go writes (1h0m0s).
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// nameLines are what DNS answers; expected: more names are to come.
func nameLines(n network.Network, endpoints []network.Endpoint, expected bool) []string {
	if !slices.Contains(n.Services, network.ServiceDNS) {
		return []string{"not ours: the annotation services leaves dns out"}
	}
	var lines []string
	var images bool
	for _, v := range n.DNS.Views {
		for _, r := range v.Records {
			by, image := byWhom(r, n, endpoints)
			images = images || image
			if !image {
				lines = append(lines, r.Name+" -> "+join(r.Addresses)+by)
			}
		}
	}
	if images {
		lines = append(lines, fmt.Sprintf("the hosts let through -> %s", n.ServiceAddress))
	}
	switch n.DNS.Upstreams.Mode {
	case network.UpstreamManagement:
		return append(lines, "other names: asked of the management cluster's resolver")
	case network.UpstreamServers:
		return append(lines, fmt.Sprintf("other names: asked of %v", n.DNS.Upstreams.Servers))
	}
	if expected {
		return append(lines, "other names: refused, but for what is expected")
	}
	return append(lines, "other names: refused")
}

// byWhom says why a name is answered where that is not HyperShift's doing, and
// whether it is one that images are pulled from.
func byWhom(r network.Record, n network.Network, endpoints []network.Endpoint) (by string, image bool) {
	if !slices.Equal(r.Addresses, []netip.Addr{n.ServiceAddress}) {
		return ", as an annotation says", false
	}
	i := slices.IndexFunc(endpoints, func(e network.Endpoint) bool { return slices.Contains(e.Hosts, r.Name) })
	if i < 0 {
		return "", false
	}
	switch e := endpoints[i]; e.Origin {
	case network.OriginApps:
		return ", the hosted cluster's own ingress", false
	case network.OriginService:
		return ", by the annotation on Service " + e.Backend.Service, false
	case network.OriginRegistry:
		return "", true
	}
	return "", false
}

// connectionLines are what the proxy does; expected: there is more to come.
func connectionLines(n network.Network, in network.Intent, expected bool) []string {
	if !slices.Contains(n.Services, network.ServiceProxy) {
		return []string{"not ours: the annotation services leaves the proxy out"}
	}
	var lines []string
	for _, l := range n.Listeners {
		outside := false
		for _, f := range l.Forwards {
			b := backend(n, f.Backend)
			if b.Kind == network.BackendOutside {
				outside = true
				continue
			}
			lines = append(lines, fmt.Sprintf("%s, server name %s -> %s", l.Name(), strings.Join(f.ServerNames, ", "), target(b)))
		}
		if outside {
			lines = append(lines, l.Name()+", server name of a host let through -> that host")
		}
		what := "everything"
		if len(l.Forwards) > 0 {
			what = "everything else"
		}
		if l.Default == "" {
			lines = append(lines, fmt.Sprintf("%s, %s -> %s", l.Name(), what, closed(in, expected)))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s, %s -> %s", l.Name(), what, target(backend(n, l.Default))))
	}
	if len(lines) == 0 && !expected {
		return []string{"none"}
	}
	if len(lines) == 0 {
		return []string{"none but for what is expected"}
	}
	return lines
}

// closed is what becomes of a connection that nobody is known to want.
func closed(in network.Intent, expected bool) string {
	switch {
	case slices.Contains(in.Waiting, "kube-apiserver"):
		return "not decided: the API server if it comes to be published at this port, else closed"
	case expected:
		return "closed, but for what is expected"
	}
	return "closed"
}

func backend(n network.Network, name string) network.Backend {
	i := slices.IndexFunc(n.Backends, func(b network.Backend) bool { return b.Name == name })
	return n.Backends[i]
}

// target is where connections to a backend end.
func target(b network.Backend) string {
	switch {
	case b.Kind == network.BackendMachines && b.Service != "":
		return "the machines, at the node port of Service " + b.Service
	case b.Kind == network.BackendMachines:
		return fmt.Sprintf("the machines themselves, port %d", b.Port)
	}
	return "Service " + b.Name
}

// throughLines are the hosts outside to which edges let machines through.
func throughLines(n network.Network) []string {
	byProxy := map[string][]string{}
	for _, b := range n.Backends {
		if b.Kind == network.BackendOutside {
			byProxy[b.HTTPProxy] = append(byProxy[b.HTTPProxy], b.Name)
		}
	}
	var lines []string
	for _, proxy := range slices.Sorted(maps.Keys(byProxy)) {
		lines = append(lines, strings.Join(byProxy[proxy], ", "))
		if proxy == "" {
			lines = append(lines, "by TLS server name, and by the management cluster's HTTP proxy where the operator's environment names one")
		} else {
			lines = append(lines, "by TLS server name, and by the management cluster's HTTP proxy "+proxy)
		}
	}
	switch {
	case len(lines) > 0:
	case n.DHCP.Router.IsValid() && n.DHCP.Router != n.NextHop:
		return []string{"no host by an edge; what the gateway lets through, it decides"}
	default:
		return []string{"no host outside"}
	}
	return append(lines, "no other host outside")
}

func join(addresses []netip.Addr) string {
	var s []string
	for _, a := range addresses {
		s = append(s, a.String())
	}
	return strings.Join(s, ", ")
}
