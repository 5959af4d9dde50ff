// This file renders a plan for people, in the order of their questions. The questions are whether nodes become Ready,
// what a VM gets, what it reaches, which addresses must be reserved, and what runs.

package explain

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A Preview describes one hosted cluster before anything is applied.
type Preview struct {
	// Cluster is "namespace/name".
	Cluster string
	// Plan is nil where an error keeps everything from being applied.
	Plan     *network.Plan
	Problems problem.Problems
	// Created is true if HyperShift has seen the cluster.
	Created bool
	// Running is true if edges serve a plan in force.
	Running bool
	// Remarks are whole sentences about the objects, for facts without a problem.
	Remarks []string
	// PoolSizes are the NodePools' sizes without what an update adds.
	PoolSizes map[string]int
	// MaxVMs is the maximum number of VMs of a network, by Network.Name. 0: unknown.
	MaxVMs map[string]int
	// EdgeNodes are the node labels that the user chose for edges. Nil: none.
	EdgeNodes map[string]string
	// Sources says where settings were read, by Network.Name and annotation key without prefix. A setting without an
	// entry has its default.
	Sources map[string]map[string]string
}

// WritePlan writes p as text.
func WritePlan(w io.Writer, p Preview) {
	problems := Ordered(p.Problems)
	fmt.Fprintf(w, "HostedCluster %s: %s\n", p.Cluster, headline(p, problems))
	if fix := p.firstFix(problems); fix != "" {
		fmt.Fprintf(w, "  Fix first: %s\n", fix)
	}
	pending, shown := p.pending()
	if len(pending) > 0 {
		fmt.Fprintf(w, "  HyperShift has not published yet: %s\n", strings.Join(pending, ", "))
	}
	for _, r := range p.Remarks {
		fmt.Fprintf(w, "  %s\n", r)
	}
	if p.Plan != nil {
		for _, n := range p.Plan.Networks {
			writeNetwork(w, p, n)
		}
		if len(p.Plan.Networks) == 0 && problems.Waiting() {
			fmt.Fprintln(w, "\n  No network can be served yet.")
		}
	}
	writeProblems(w, Ordered(shown))
}

// headline returns a text about whether nodes will become Ready. problems are ordered.
func headline(p Preview, problems problem.Problems) string {
	var networks []network.Network
	if p.Plan != nil {
		networks = p.Plan.Networks
	}
	pods := len(networks) > 0 && !boots(networks)
	o := outlookOf(networks, problems)
	may := cmp.Or(withoutNode(networks, problems), o.may)
	if problems.Has(problem.Removing) {
		return "is being deleted, so nothing is applied."
	}
	if problems.Has(problem.Paused) {
		return whilePaused(p.Running, boots(networks))
	}
	if problems.Blocking() && p.Running {
		return "no change is applied. Edges keep serving the plan in force."
	}
	if problems.Blocking() {
		return "nodes will not become Ready, because nothing is applied."
	}
	if problems.Waiting() && !slices.ContainsFunc(problems, refusesControlPlane) {
		return whileWaiting(p.Created, pods, may, parts(networks, problems.Of(problem.SeverityWaiting)))
	}
	switch {
	case may != "":
		return may + "."
	case pods:
		return "VMs boot from the pod network. They get addresses on the networks below."
	case len(networks) == 0:
		return "VMs boot from the pod network. No other network is served."
	case len(o.extras) > 0:
		return "nodes will become Ready" + o.butLacking() + "."
	case len(problems.Of(problem.SeverityWarning)) > 0:
		return "nodes will become Ready, with warnings."
	}
	return "nodes will become Ready."
}

// whilePaused returns the headline of a paused cluster. running is true if edges serve a plan in force, onNetworks if VMs
// boot from a network of the plan.
func whilePaused(running, onNetworks bool) string {
	switch {
	case running:
		return "no change is applied while the cluster is paused. Edges keep serving the plan in force."
	case onNetworks:
		return "nodes will not become Ready, because oooi does nothing while the cluster is paused."
	}
	return "oooi does nothing while the cluster is paused. Only nodes that boot from the pod network become Ready."
}

// whileWaiting returns the headline while parts are not served. pods is true if VMs boot from the pod network. may is
// the outlook's clause.
func whileWaiting(created, pods bool, may string, waiting []part) string {
	switch {
	case !created && may != "":
		return "not created yet. " + capital(may) + ". The plan below is completed when HyperShift publishes the control plane."
	case !created:
		return "not created yet. The plan below is completed when HyperShift publishes the control plane."
	case may != "":
		return may + ", even when the items marked Waiting exist."
	case pods:
		return "VMs boot from the pod network. " + notServed(waiting, " yet")
	case waiting[0].need >= needToJoin:
		return "nodes will become Ready. " + notServed(waiting, " yet")
	}
	return "nodes will become Ready when the items marked Waiting exist."
}

// firstFix returns what to do first: against an Error, else against what keeps nodes from becoming Ready, else against
// a mistake. It returns "" if there is nothing to do.
func (p Preview) firstFix(problems problem.Problems) string {
	i := slices.IndexFunc(problems, func(p problem.Problem) bool { return p.Level() == problem.SeverityError })
	if i < 0 {
		i = slices.IndexFunc(problems, mayPrevent)
	}
	if i < 0 {
		i = slices.IndexFunc(problems, problem.Problem.Mistake)
	}
	if i < 0 {
		return ""
	}
	m := Problem(problems[i])
	return fmt.Sprintf("%s: %s", problems[i].Reason, capital(Message{What: m.What, Fix: m.Fix}.String()))
}

func writeNetwork(w io.Writer, p Preview, n network.Network) {
	use := "VMs boot from it"
	if !n.Primary {
		use = "an additional network: VMs get an address, and no router, DNS or routes"
	}
	pools := "NodePool"
	if len(n.NodePools) > 1 {
		pools = "NodePools"
	}
	fmt.Fprintf(w, "\nNetwork %s (%s), %s %s: %s\n", n.Attachment, kind(n.Attachment), pools, strings.Join(n.NodePools, ", "), use)
	v := view{Preview: p, n: n}
	section(w, "What a VM gets", v.gets())
	if n.Primary {
		section(w, "What a VM reaches", v.reaches())
		section(w, "What hosts beyond the network reach", v.beyond())
	}
	section(w, "What pods of the management cluster reach", v.opened())
	section(w, "Addresses to reserve in your IPAM", v.reserves())
	section(w, "What runs", v.runs())
}

// A view is one network of a preview.
type view struct {
	Preview
	n network.Network
}

// A row is one line: a name and a value. Rows without name continue the one above.
type row struct{ name, value string }

func section(out io.Writer, title string, rows []row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "  %s\n", title)
	w := tabwriter.NewWriter(out, 18, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "    %s\t%s\n", r.name, r.value)
	}
	w.Flush()
}

// Method from returns the source of the setting key, in parentheses.
func (v view) from(key string) string {
	return " (" + cmp.Or(v.Sources[v.n.Name][key], "default") + ")"
}

func kind(a network.Attachment) string {
	k := cmp.Or(a.Kind, "its NetworkAttachmentDefinition is not in the input")
	if a.VLAN != 0 {
		k += fmt.Sprintf(", VLAN %d", a.VLAN)
	}
	return k
}

// gets returns the rows about DHCP.
func (v view) gets() []row {
	d := v.n.DHCP
	if !slices.Contains(v.n.Services, network.ServiceDHCP) {
		return []row{{"DHCP", "not served by oooi" + v.from(network.KeyServices)}}
	}
	rows := []row{{"address", fmt.Sprintf("%s%s", d.Range, v.from(network.KeyDHCPRange))}}
	for _, x := range d.Exclude {
		rows = append(rows, row{"", x.String() + " excluded"})
	}
	for _, r := range d.Reservations {
		rows = append(rows, row{"", fmt.Sprintf("%s reserved for %s", r.Address, r.MAC)})
	}
	rows = append(rows, row{"lease time", d.LeaseTime.String() + v.from(network.KeyLeaseTime)}, row{"unknown clients", v.unknownClients()})
	if d.Router.IsValid() {
		router := d.Router.String() + ", the next-hop VIP: the network is isolated (default)"
		if d.Router != v.n.NextHopVIP {
			router = d.Router.String() + v.from(network.KeyGateway)
		}
		rows = append(rows, row{"router", router})
	}
	for i, r := range d.Routes {
		if r.Destination.Bits() > 0 {
			rows = append(rows, row{[]string{"routes", ""}[min(i, 1)], r.String()})
		}
	}
	return append(rows, v.options()...)
}

// options returns the rows about the further DHCP options that are sent.
func (v view) options() []row {
	d := v.n.DHCP
	var rows []row
	if len(d.DNSServers) > 0 {
		server := network.AddressList(d.DNSServers) + ", the service VIP"
		if !slices.Contains(d.DNSServers, v.n.ServiceVIP) {
			server = network.AddressList(d.DNSServers) + v.from(network.KeyUpstreams)
		}
		rows = append(rows, row{"DNS server", server})
	}
	if len(d.SearchDomains) > 0 {
		rows = append(rows, row{"search domains", strings.Join(d.SearchDomains, ", ") + v.from(network.KeySearchDomains)})
	}
	if d.MTU != 0 {
		from := v.from(network.KeyMTU)
		if d.MTU == v.n.Attachment.MTU {
			from = " (NetworkAttachmentDefinition)"
		}
		rows = append(rows, row{"MTU", fmt.Sprintf("%d%s", d.MTU, from)})
	}
	if servers := v.n.TimeServers(); len(servers) > 0 {
		from := v.from(network.KeyNTPServers)
		if v.servesTime() {
			from = ", the service VIP"
		}
		rows = append(rows, row{"NTP servers", network.AddressList(servers) + from})
	}
	if len(d.Relays) > 0 {
		rows = append(rows, row{"relays", "requests through " + network.AddressList(d.Relays) + " only" + v.from(network.KeyDHCPRelays)})
	}
	return rows
}

// unknownClients returns a text about what DHCP does for MACs of other hosts, and how many addresses these hosts never get.
func (v view) unknownClients() string {
	d, size := v.n.DHCP, 0
	for _, pool := range v.n.NodePools {
		size += v.PoolSizes[pool]
	}
	kept, most := d.ReservedForVMs, v.MaxVMs[v.n.Name]
	switch {
	case d.IgnoreUnknownClients:
		return "get no answer" + v.from(network.KeyUnknownClients)
	case kept == 0:
		return "are served" + v.from(network.KeyUnknownClients)
	case kept < most:
		return fmt.Sprintf("get no address: all %d are reserved for VMs of this cluster, which may need %d", kept, most)
	case size > 0 && size < kept:
		return fmt.Sprintf("are served, except from %d addresses reserved for VMs: %d, and %d during an update", kept, size, kept-size)
	}
	return fmt.Sprintf("are served, except from %d addresses reserved for VMs", kept)
}

func (v view) reserves() []row {
	n := v.n
	from := v.from(network.KeyEdgeAddresses)
	rows := []row{{n.CIDR.String(), "CIDR of the network" + v.from(network.KeyCIDR)}, {n.NextHopVIP.String(), "next-hop VIP" + from}, {n.ServiceVIP.String(), "service VIP" + from}}
	for _, e := range n.Edges {
		rows = append(rows, row{e.Address.String(), fmt.Sprintf("edge %d%s", e.Number, from)})
	}
	for _, a := range n.ReservedAddresses {
		rows = append(rows, row{a.String(), "a second edge, if annotation edges is set to 2" + from})
	}
	if n.DHCP.Range.First.IsValid() {
		rows = append(rows, row{n.DHCP.Range.String(), "addresses for VMs" + v.from(network.KeyDHCPRange)})
	}
	for _, a := range n.DHCP.Named {
		rows = append(rows, row{a.String(), "not for new VMs: another host has it"})
	}
	for _, a := range n.PublishedAddresses {
		rows = append(rows, row{a.String(), "published by HyperShift; edges answer at it on this network only"})
	}
	return rows
}

func (v view) runs() []row {
	deployments := "one Deployment"
	if len(v.n.Edges) > 1 {
		deployments = "one Deployment each"
	}
	rows := []row{
		{"edges", fmt.Sprintf("%d%s, %s in namespace %s", len(v.n.Edges), v.from(network.KeyEdges), deployments, v.Plan.Cluster.ControlPlaneNamespace)},
		{"services", sentenceList(names(v.n.Services)) + v.from(network.KeyServices)},
	}
	if v.n.AnswersPods() {
		rows = append(rows, row{"names for pods", v.podNames()})
	}
	if v.n.AccessLog != "" {
		what := map[network.AccessLog]string{network.AccessLogNone: "no connections", network.AccessLogFailures: "connections that fail", network.AccessLogAll: "all connections"}
		rows = append(rows, row{"access log", what[v.n.AccessLog.Level()] + v.from(network.KeyAccessLog)})
	}
	if len(v.EdgeNodes) > 0 {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(v.EdgeNodes)) {
			labels = append(labels, key+"="+v.EdgeNodes[key])
		}
		rows = append(rows, row{"nodes", strings.Join(labels, ", ") + v.from(network.KeyEdgeNodeSelector)})
	}
	return rows
}

// writeProblems writes a paragraph for each problem, most important first.
func writeProblems(w io.Writer, ps problem.Problems) {
	if len(ps) == 0 {
		return
	}
	fmt.Fprintln(w, "\nProblems, most important first")
	for _, p := range ps {
		m := Problem(p)
		fmt.Fprintf(w, "  %s %s\n", p.Level(), p.Reason)
		for _, part := range []string{m.What, m.Effect, m.Fix} {
			if part != "" {
				fmt.Fprintf(w, "    %s\n", capital(part))
			}
		}
	}
}
