// This file renders what VMs reach through the edges of a network, and where each connection ends, or why there is none.

package explain

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A purpose is one thing that nodes need, and the reason of the problem that it is missing.
type purpose struct {
	network.PublishedService
	missing problem.Reason
}

func purposes() []purpose {
	return []purpose{
		{network.PublishedBy(network.APIService), problem.WaitingForControlPlane},
		{network.PublishedBy(network.KonnectivityService), ""},
		{network.PublishedBy(network.IgnitionService), ""},
		{network.PublishedBy(network.OAuthService), problem.OAuthUnreachable},
	}
}

func (v view) reaches() []row {
	var rows []row
	for _, p := range purposes() {
		rows = append(rows, named(p.Title, v.published(p))...)
	}
	rows = append(rows, named("*.apps", v.apps())...)
	rows = append(rows, named("images", v.images())...)
	rows = append(rows, named("time", []string{v.time()})...)
	rows = append(rows, named("other endpoints", v.others())...)
	rows = append(rows, named("DNS records", v.records())...)
	return append(rows, row{"other names", v.upstream()}, row{"other hosts", v.external()})
}

// named returns a row for each of values. Only the first row has the name.
func named(name string, values []string) []row {
	var rows []row
	for _, value := range values {
		rows = append(rows, row{name, value})
		name = ""
	}
	return rows
}

func (v view) published(p purpose) []string {
	var out []string
	for _, e := range v.Plan.Endpoints {
		if e.Name == p.Endpoint && e.Origin == network.OriginHyperShift {
			out = append(out, v.ways(e)...)
		}
	}
	if len(out) > 0 {
		return out
	}
	missing, ok := v.problem(p.missedBy)
	pending, _ := v.pending()
	switch place := missing.Args["place"]; {
	case !ok:
		return []string{"not published by HyperShift"}
	case !slices.Contains(pending, p.Title):
		return []string{no(missing)}
	case len(place) > 0:
		return []string{"NOT YET. At " + place.String()}
	}
	return nil // The line about what is not published yet has it.
}

// Shown returns the problems that the text of p lists.
func (p Preview) Shown() problem.Problems {
	_, shown := p.pending()
	return shown
}

// pending returns the titles of what HyperShift publishes after it creates the cluster, and the other problems. The
// copy of the ingress is pending as well: the HostedCluster already has the type of ingress that the fix asks for.
func (p Preview) pending() (titles []string, others problem.Problems) {
	others = slices.Clone(p.Problems)
	ingress := purpose{PublishedService: network.PublishedService{Title: "*.apps", Endpoint: "apps", Type: "apps"}}
	for _, what := range append(purposes(), ingress) {
		expected := func(x problem.Problem) bool {
			return what.missedBy(x) && x.Waits() && (Problem(x).Fix == "" || x.Cause == problem.IngressCopyPending)
		}
		if !p.Created && slices.ContainsFunc(others, expected) {
			titles, others = append(titles, what.Title), slices.DeleteFunc(others, expected)
		}
	}
	return titles, others
}

func (p purpose) missedBy(x problem.Problem) bool {
	return p.missing != "" && x.Reason == p.missing || slices.Contains([]string{p.Endpoint, p.Type}, x.Subject.Name)
}

func (v view) problem(is func(problem.Problem) bool) (problem.Problem, bool) {
	problems := Ordered(v.Problems)
	i := slices.IndexFunc(problems, is)
	if i < 0 {
		return problem.Problem{}, false
	}
	return problems[i], true
}

func no(p problem.Problem) string {
	m := Problem(p)
	if p.Waits() {
		return "NOT YET. See the problems below"
	}
	return "NO. " + capital(cmp.Or(m.Fix, m.What))
}

// ways returns, for each host name and address of e, a text about where connections to it end.
func (v view) ways(e network.Endpoint) []string {
	var out []string
	for _, h := range e.Hosts {
		out = append(out, v.way(h, v.n.ServiceVIP, e))
	}
	for _, a := range e.Addresses {
		out = append(out, v.way(a.String(), a, e))
	}
	return out
}

// way returns a text that says where a connection ends. dialed is the name or the address that VMs dial, and parameter
// at is the address to which it resolves.
func (v view) way(dialed string, at netip.Addr, e network.Endpoint) string {
	port := fmt.Sprintf("%s:%d", dialed, e.Port)
	if v.n.HasLoadBalancer(e) {
		return fmt.Sprintf("%s -> %s, its load balancer on the network", port, e.LoadBalancer)
	}
	if !slices.Contains(v.n.Services, network.ServiceProxy) {
		return port + " -> not served by oooi" + v.from(network.KeyServices)
	}
	i := slices.IndexFunc(v.n.Listeners, func(l network.Listener) bool {
		return l.Address == at && l.Port == e.Port && (l.Default == e.Backend.Name || slices.ContainsFunc(l.Forwards, func(f network.Forward) bool {
			return f.Backend == e.Backend.Name && slices.Contains(f.ServerNames, strings.ToLower(dialed))
		}))
	})
	if i < 0 {
		return port + " -> NO. See the problems below"
	}
	return port + " -> " + target(e.Backend)
}

func target(b network.Backend) string {
	switch {
	case b.Kind == network.BackendVMs && b.TargetPort != 0:
		return fmt.Sprintf("the VMs, node port %d", b.TargetPort)
	case b.Kind == network.BackendVMs && b.Service != "":
		return "the VMs in Service " + b.Service
	case b.Kind == network.BackendVMs:
		return fmt.Sprintf("the VMs, port %d", b.Port)
	}
	return "Service " + b.Name
}

// views returns the DNS views of VMs. Hosts beyond the network get the same records.
func (v view) views() []network.View {
	return slices.DeleteFunc(slices.Clone(v.n.DNS.Views), func(d network.View) bool { return d.OwnNamesOnly })
}

func (v view) gateway() bool { return v.n.DHCP.Router.IsValid() && v.n.DHCP.Router != v.n.NextHopVIP }

func (v view) images() []string {
	var out []string
	if hosts := v.hosts(); len(hosts) > 0 {
		out = append(out, strings.Join(hosts, ", ")+v.from(network.KeyAllowedHosts))
		out = append(out, "by TLS server name, through "+v.httpProxy())
	}
	if v.gateway() {
		return append(out, "through the gateway "+v.n.DHCP.Router.String())
	}
	if p, ok := v.problem(func(x problem.Problem) bool { return x.Reason == problem.ImagesUnreachable }); ok && !mayPrevent(p) {
		out = append(out, "from other hosts only if allowed-hosts names them")
	} else if ok {
		missing := no(p)
		if len(out) > 0 {
			missing = "INCOMPLETE. " + strings.TrimPrefix(missing, "NO. ")
		}
		out = append(out, missing)
	}
	if len(out) == 0 {
		return []string{"edges forward to no external host"}
	}
	return out
}

func (v view) hosts() []string {
	var out []string
	for _, b := range v.n.Backends {
		if b.Kind == network.BackendExternal {
			out = append(out, b.Name)
		}
	}
	return out
}

func (v view) httpProxy() string {
	for _, b := range v.n.Backends {
		if b.Kind == network.BackendExternal && b.HTTPProxy != "" {
			return "the management cluster's HTTP proxy " + b.HTTPProxy
		}
	}
	return "the pod network, or the HTTP proxy that the operator's environment names"
}

func (v view) unreachable(causes ...problem.Cause) func(problem.Problem) bool {
	return func(x problem.Problem) bool {
		return slices.Contains(causes, x.Cause) && slices.Contains(x.Args["network"], v.n.Attachment.String())
	}
}

func (v view) time() string {
	if p, ok := v.problem(v.unreachable(problem.TimeServersUnreachable, problem.OnlyTimeServersUnreachable)); ok {
		return no(p)
	}
	if v.servesTime() {
		return v.n.ServiceVIP.String() + ":123 -> the clocks of the edges' nodes" + v.from(network.KeyNTPServers)
	}
	if servers := v.n.TimeServers(); len(servers) > 0 {
		return network.AddressList(servers) + v.from(network.KeyNTPServers)
	}
	if v.gateway() {
		return "public time servers, through the gateway"
	}
	if p, ok := v.problem(func(x problem.Problem) bool { return x.Reason == problem.NTPMissing }); ok {
		return no(p)
	}
	return "the time of the VMs' hosts"
}

// servesTime reports whether VMs take the time from the edges alone.
func (v view) servesTime() bool {
	return slices.Contains(v.n.Services, network.ServiceNTP) && slices.Equal(v.n.TimeServers(), []netip.Addr{v.n.ServiceVIP})
}

func (v view) others() []string {
	var out []string
	for _, e := range v.Plan.Endpoints {
		known := slices.ContainsFunc(purposes(), func(p purpose) bool { return p.Endpoint == e.Name })
		if e.Origin == network.OriginService || e.Origin == network.OriginHyperShift && !known {
			out = append(out, v.ways(e)...)
		}
	}
	return out
}

func (v view) records() []string {
	var out []string
	for _, d := range v.views() {
		for _, r := range d.Records {
			if !strings.HasPrefix(r.Name, "*.apps.") && !v.resolves(r) {
				out = append(out, r.Name+" -> "+network.AddressList(r.Addresses)+v.from(network.KeyRecords))
			}
		}
	}
	return out
}

// upstream returns a text about names that the plan does not have.
func (v view) upstream() string {
	if !slices.Contains(v.n.Services, network.ServiceDNS) {
		return "not answered by oooi" + v.from(network.KeyServices)
	}
	from := v.from(network.KeyUpstreams)
	switch v.n.DNS.Upstreams.Mode {
	case network.UpstreamManagement:
		return "answered by the management cluster's resolver" + from
	case network.UpstreamServers:
		return "answered by " + v.upstreams() + from
	}
	return "do not exist" + from
}

// upstreams returns the DNS servers that the user set, and how edges reach them.
func (v view) upstreams() string {
	var out []string
	for _, server := range v.n.DNS.Upstreams.Servers {
		where := "through the pod network"
		switch v.n.Reach().FromEdge(server.Addr()) {
		case network.OnNetwork:
			where = "on the network"
		case network.ThroughGateway:
			where = "through the gateway"
		}
		out = append(out, fmt.Sprintf("%s %s", server, where))
	}
	return strings.Join(out, ", ")
}

func (v view) external() string {
	if v.gateway() {
		return "edges allow no other external host; the gateway decides on its own"
	}
	return "edges allow no other external host; other connections are closed"
}
