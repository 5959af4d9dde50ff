// This file holds `oooi-edge try`, the pod of `oooi check --from-network`: its flags, and facts about its pod.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/trial"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

const (
	apiPort     = 443
	kubeletPort = 10250
)

func newTryCommand() *cobra.Command {
	f := serverFlags{program: wire.Try}
	var failover time.Duration
	var edges []string
	c := &cobra.Command{
		Use:   "try --plan FILE",
		Short: "Test the network of a plan as a VM would, and print the results as JSON",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.selection.Edge = 1 // The pod is not an edge, but the selection needs one, and every network has a first edge.
			source, err := inforce.New(f.plan, f.selection, nil, nil)
			if err != nil {
				return err
			}
			if err := isolates(c.Context(), f.device); err != nil {
				return fmt.Errorf("nothing is tried: %w", err)
			}
			o := trial.Options{Device: f.device, Network: source.Current().Network, EdgeMACs: edges, Unreachable: unreachable()}
			results, err := []network.TrialResult(nil), error(nil)
			if failover > 0 {
				results, err = trial.Failover(c.Context(), o, failover, func(s network.TrialStart) {
					_ = json.NewEncoder(c.OutOrStdout()).Encode(s)
				})
			} else {
				results, err = trial.Run(c.Context(), o)
			}
			if err != nil {
				return err
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(results)
		},
	}
	f.addPlan(c)
	c.Flags().StringVar(&f.device, "interface", wire.Device, "network `interface` to try on")
	c.Flags().DurationVar(&failover, "failover", 0, "connect repeatedly for this `time` instead, print the host that connections go to, and measure the longest gap")
	c.Flags().StringSliceVar(&edges, "edge-macs", nil, "`MACs` of the edges, separated by commas: report any other host that has a VIP")
	return c
}

// isolates returns an error if VMs could reach the pod network through this pod. The program then ends
// immediately.
func isolates(ctx context.Context, name string) error {
	w, err := device.Watch(ctx, name)
	if err != nil {
		return err
	}
	now, err := w.Current()
	if err != nil {
		return err
	}
	return now.Isolates()
}

// unreachable returns the API server and the kubelet of this pod, if any, which must not be reachable from the
// network.
func unreachable() (out []netip.AddrPort) {
	for variable, port := range map[string]uint16{wire.APIServerVariable: apiPort, wire.HostVariable: kubeletPort} {
		if a, err := netip.ParseAddr(os.Getenv(variable)); err == nil && a.Is4() {
			out = append(out, netip.AddrPortFrom(a, port))
		}
	}
	return out
}
