// This file prints the end of the demo: the plan, what the edge serves, and commands to try.

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// summary prints the table. It returns an error if something in it cannot be read.
func (d *demo) summary(ctx context.Context) error {
	plan, err := d.state.Plan(ctx)
	if err != nil {
		return fmt.Errorf("the plan in force: %w", err)
	}
	condition, err := d.state.Condition(ctx)
	if err != nil {
		return err
	}
	leases, err := d.state.Leases(ctx)
	if err != nil {
		return err
	}
	nodes, err := d.hypershift.GuestKubectl(ctx, d.hosted, "get", "nodes", "-o", "wide")
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nHOSTED CLUSTER\t%s\t%s\n", plan.Cluster, plan.Cluster.Domain)
	fmt.Fprintf(t, "CONDITION\tNetworkReady=%s\t%s\n", condition.Status, condition.Reason)
	for line := range strings.Lines(condition.Message) {
		fmt.Fprintf(t, "\t\t%s\n", strings.TrimSpace(line))
	}
	for _, n := range plan.Networks {
		networkRows(t, n)
	}
	for _, l := range leases {
		holder := ""
		if l.Spec.HolderIdentity != nil {
			holder = *l.Spec.HolderIdentity
		}
		fmt.Fprintf(t, "LEASE\t%s\t%s\n", l.Name, holder)
	}
	for _, w := range d.workers {
		fmt.Fprintf(t, "WORKER\t%s\t%s, Ready %.1fs after power-on; ignition answered %d with its token, %d without\n",
			w.VM.Name, w.Lease.Address.Addr(), w.Ready.Seconds(), w.Token.Status, w.NoToken.Status)
		fmt.Fprintf(t, "TIME\t%s\t%s\n", w.VM.Name, timeOf(w.Time))
	}
	d.usersRows(t)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nkubectl get nodes, in the hosted cluster:\n%s\n", nodes)
	d.whatToTry()
	return nil
}

// usersRows writes the answers that users of the hosted cluster got, on the network and behind the router.
func (d *demo) usersRows(t *tabwriter.Writer) {
	console := d.router.Console("https")
	fmt.Fprintf(t, "*.APPS\t%s\t%s: %d, answered by worker %s\n", d.console.Server, console, d.console.Status, d.console.Body)
	for _, n := range d.outside.nodes {
		fmt.Fprintf(t, "OUTSIDE\t%s\tbehind gateway %s: lists node %s of the API server\n", d.outside.Host, d.outside.Address, n.Name)
	}
	fmt.Fprintf(t, "\t\t%s: answered by worker %s\n", console, d.outside.console)
}

// timeOf says which time a worker got. If edges are compiled with build.PlayedClock, it says that this time is not reliable.
func timeOf(told machine.Time) string {
	switch {
	case !told.Server.IsValid():
		return "no time server"
	case build.PlaysClock():
		return told.String() + " (the clock of this machine is not synchronized: the edge plays one that is)"
	}
	return told.String()
}

func networkRows(t *tabwriter.Writer, n network.Network) {
	fmt.Fprintf(t, "NETWORK\t%s\tVLAN %d, %s\n", n.Attachment, n.Attachment.VLAN, n.CIDR)
	fmt.Fprintf(t, "\taddresses\tnext-hop VIP %s, service VIP %s", n.NextHopVIP, n.ServiceVIP)
	for _, e := range n.Edges {
		fmt.Fprintf(t, ", edge %d %s", e.Number, e.Address)
	}
	for _, a := range n.PublishedAddresses {
		fmt.Fprintf(t, ", published %s", a)
	}
	fmt.Fprintf(t, "\nDHCP\t%s\trouter %s, dns %v, lease %s\n", n.DHCP.Range, n.DHCP.Router, n.DHCP.DNSServers, durationOf(n.DHCP.LeaseTime))
	if len(n.DHCP.NTPServers) > 0 {
		fmt.Fprintf(t, "\tntp\t%v\n", n.DHCP.NTPServers)
	}
	if len(n.ClientNetworks) > 0 {
		fmt.Fprintf(t, "\tclients\t%v, through gateway %s\n", n.ClientNetworks, n.DHCP.Router)
	}
	for _, r := range n.DHCP.Routes {
		fmt.Fprintf(t, "\troute\t%s via %s\n", r.Destination, r.Via)
	}
	var names []string
	for _, v := range n.DNS.Views {
		for _, r := range v.Records {
			names = append(names, fmt.Sprintf("NAME\t%s\t%v\n", r.Name, r.Addresses))
		}
	}
	slices.Sort(names)
	fmt.Fprint(t, strings.Join(slices.Compact(names), "")) // Views for VMs and for other clients have the same names.
	for _, l := range n.Listeners {
		for _, f := range l.Forwards {
			fmt.Fprintf(t, "FORWARD\t%s\t%s to %s\n", l.Name(), strings.Join(f.ServerNames, ", "), f.Backend)
		}
		if l.Default != "" {
			fmt.Fprintf(t, "FORWARD\t%s\tall other names to %s\n", l.Name(), l.Default)
		}
	}
	for _, b := range n.Backends {
		fmt.Fprintf(t, "BACKEND\t%s\t%s\n", b.Name, backendOf(b))
	}
}

// backendOf says in words what b is.
func backendOf(b network.Backend) string {
	switch b.Kind {
	case network.BackendVMs:
		return "VMs that accept connections"
	case network.BackendExternal:
		return fmt.Sprintf("host %s, port %d", b.Host, b.Port)
	}
	return fmt.Sprintf("pods of Service %s, port %d", b.Service, b.Port)
}

func durationOf(d network.Duration) string {
	text, err := d.MarshalText()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (d *demo) whatToTry() {
	node := "<node>"
	if len(d.workers) > 0 {
		node = d.workers[0].VM.Name
	}
	fmt.Fprintln(d.out, "The cluster stays up. Things to try:")
	for _, line := range [][2]string{
		{d.command("kubectl -n clusters get hostedcluster " + d.hosted + " -o yaml"), "the condition on the HostedCluster"},
		{d.command("kubectl -n " + d.state.Namespace() + " get pods,leases,cm -l app.kubernetes.io/part-of=oooi"), "all objects that oooi created for it"},
		{d.command("hypershift kubectl " + d.hosted + " -- get --raw /api/v1/nodes/" + node + "/proxy/healthz"), "the API server reaches the worker through konnectivity and the edge"},
		{d.command("worker run " + d.hosted + " -- ip route"), "the routes that DHCP gave the worker"},
		{d.command("worker run " + d.hosted + " -- ntpdig --json " + d.outside.ServiceVIP.String()), "the time, as the edge tells it"},
		{d.command("kubectl -n clusters annotate --overwrite hostedcluster " + d.hosted + " hostedcluster.densityops.com/network=none"), "opt out: oooi removes all its objects"},
		{"make demo-down", "remove the demo"},
	} {
		fmt.Fprintf(d.out, "  # %s\n  %s\n", line[1], line[0])
	}
}
