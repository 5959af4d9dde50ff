// This file holds `oooi status`: what a running cluster has, as the operator and the edges
// report it. It reads the API server with the rights of the user, and writes nothing.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// firstLines of the condition's message are shown.
const firstLines = 6

func newStatusCommand() *cobra.Command {
	var kubeconfig, cluster string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the condition and the DHCP leases of a running hosted cluster",
		Long: `Reads the HostedClusters that opted in, and the Leases in their control plane namespaces.
It prints the condition NetworkReady with its first lines, and a table of the DHCP leases.

The time in column EXPIRES is the one that edges stored. It is up to one lease time later
than the one that the VM got, so that most renewals need no write. States of a lease:
  assigned  a client has the address
  expired   no client renewed it; its VM gets the same address again while it is free
  declined  a client found that another host has the address, or says so
  blocked   the Lease cannot be read, so no client gets the address; delete it if none uses it

You need the right to list HostedClusters, and Leases in those namespaces.`,
		Example: `  oooi status
  oooi status --kubeconfig management.kubeconfig --cluster clusters/blue`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := newReader(kubeconfig)
			if err != nil {
				return err
			}
			return status(c.Context(), c.OutOrStdout(), api, cluster, time.Now())
		},
	}
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "`file` with the credentials of the management cluster (default: KUBECONFIG, else ~/.kube/config)")
	c.Flags().StringVar(&cluster, "cluster", "", "`NAMESPACE/NAME` of the HostedCluster (default: each that opted in)")
	return c
}

// newReader returns a client for the API server of a kubeconfig file.
func newReader(file string) (client.Reader, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// status prints the hosted clusters that opted in, or the named one.
func status(ctx context.Context, out io.Writer, api client.Reader, cluster string, now time.Time) error {
	all, err := selected(ctx, api, cluster)
	if err != nil {
		return err
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		leases, err := leasesOf(ctx, api, all[i].ControlPlane)
		if err != nil {
			return err
		}
		writeCondition(out, all[i])
		if err := writeLeases(out, leases, now); err != nil {
			return err
		}
	}
	return nil
}

// selected returns the named hosted cluster, or without a name each that opted in.
func selected(ctx context.Context, api client.Reader, cluster string) ([]hcp.Running, error) {
	if cluster != "" {
		namespace, name, ok := strings.Cut(cluster, "/")
		if !ok || namespace == "" || name == "" {
			return nil, fmt.Errorf("--cluster %s: want NAMESPACE/NAME", cluster)
		}
		u := hcp.NewHostedCluster()
		if err := api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
			return nil, fmt.Errorf("HostedCluster %s: %w", cluster, err)
		}
		one, err := hcp.ReadRunning(u)
		return []hcp.Running{one}, err
	}
	list := hcp.NewHostedClusters()
	if err := api.List(ctx, list); err != nil {
		return nil, fmt.Errorf("HostedClusters: %w", err)
	}
	var all []hcp.Running
	for i := range list.Items {
		one, err := hcp.ReadRunning(&list.Items[i])
		if err != nil {
			return nil, err
		}
		if one.OptedIn {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no HostedCluster has the annotation " + settings.Prefix + "network")
	}
	slices.SortFunc(all, func(a, b hcp.Running) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// writeCondition prints the first lines of what the operator reports.
func writeCondition(out io.Writer, hc hcp.Running) {
	fmt.Fprintf(out, "HostedCluster %s/%s\n", hc.Namespace, hc.Name)
	c := meta.FindStatusCondition(hc.Conditions, controllers.ConditionType)
	if c == nil {
		fmt.Fprintln(out, "NetworkReady: not reported. Check that the operator runs.")
		return
	}
	fmt.Fprintf(out, "NetworkReady: %s (%s) since %s\n", c.Status, c.Reason, c.LastTransitionTime.UTC().Format(time.RFC3339))
	lines := strings.Split(strings.TrimSpace(c.Message), "\n")
	for _, line := range lines[:min(len(lines), firstLines)] {
		fmt.Fprintln(out, "  "+line)
	}
	if more := len(lines) - firstLines; more > 0 {
		fmt.Fprintf(out, "  (%d more lines are in the condition)\n", more)
	}
}

// A leased is a lease on one network, by the label of the network.
type leased struct {
	network string
	network.Lease
}

// leasesOf returns the leases in a control plane namespace, by network and address.
func leasesOf(ctx context.Context, api client.Reader, ns string) ([]leased, error) {
	var list coordinationv1.LeaseList
	if err := api.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels(wire.NamedLabels(wire.NameDHCP))); err != nil {
		return nil, fmt.Errorf("Leases in namespace %s: %w", ns, err)
	}
	var out []leased
	for i := range list.Items {
		// Another name is no lease of an address.
		if l, err := leaseobject.Read(&list.Items[i]); err == nil {
			out = append(out, leased{list.Items[i].Labels[wire.LabelNetwork], l})
		}
	}
	slices.SortFunc(out, func(a, b leased) int { return cmp.Or(cmp.Compare(a.network, b.network), a.Address.Compare(b.Address)) })
	return out, nil
}

// writeLeases prints a row for each lease.
func writeLeases(out io.Writer, all []leased, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "No DHCP leases.")
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NETWORK\tADDRESS\tVM\tMAC\tEXPIRES\tSTATE")
	for _, l := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", l.network, l.Address, cmp.Or(l.VM, "-"), cmp.Or(l.MAC, "-"), l.Expires.UTC().Format(time.RFC3339), stateOf(l.Lease, now))
	}
	return t.Flush()
}

// stateOf is the state of a lease at now.
func stateOf(l network.Lease, now time.Time) string {
	switch {
	case l.Blocked():
		return "blocked"
	case !l.Held(now):
		return "expired"
	case l.MAC == "":
		return "declined"
	}
	return "assigned"
}
