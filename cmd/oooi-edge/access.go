// This file holds `oooi-edge access`: its flags, and the composition of the access proxy of one edge.

package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/edge/agent/connlog"
	"github.com/cldmnky/oooi/edge/agent/servers"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/reported"
)

// accessCollectAt is how much the heap of the access proxy grows before garbage is collected, in percent of the memory
// in use. $GOGC overrides it. Tunnels leave little garbage, so early collection costs little.
const accessCollectAt = 50

func newAccessCommand(dialLimit time.Duration) *cobra.Command {
	f := serverFlags{program: wire.Access}
	var management string
	c := &cobra.Command{
		Use:   "access --plan FILE",
		Short: "Run the access proxy of a plan on one network",
		Long: `Accepts HTTP CONNECT requests from the management cluster, as an edge does. It forwards connections
to the destinations that the plan opens on one network. Without --watched-by it needs no cluster: it
reads the plan from the file and reloads it on change. It then knows no VMs, so only the addresses
and names in the plan are open.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.watch {
				return errors.New("access has no --watch: it needs no token")
			}
			return runAccess(c.Context(), f, management, dialLimit, f.log(c))
		},
	}
	f.add(c)
	c.Flags().StringVar(&management, "management-interface", "",
		"network `interface` to accept callers on (default: "+wire.ManagementDevice+"; in an edge pod, the pod's default network)")
	return c
}

func runAccess(ctx context.Context, f serverFlags, management string, dialLimit time.Duration, log *slog.Logger) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(accessCollectAt)
	}
	source, _, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	if management, err = f.managementDevice(management); err != nil {
		return err
	}
	keys := sharedfiles.NewTokenKeys(wire.File(f.runDir, f.watchedBy, wire.KeysFile), log)
	registry := prometheus.NewRegistry()
	lines := connlog.NewTunnelLog(log)
	names := sharedfiles.NewLeaseNames(wire.File(f.runDir, f.watchedBy, wire.LeaseCache), log)
	hosts, err := device.OpenMeter(f.device)
	if err != nil {
		return err
	}
	defer hosts.Close()
	server := access.NewServer(access.Options{
		VMs: names, Keys: keys.Current,
		Dial: func(ctx context.Context, from netip.Addr, to netip.AddrPort) (*net.TCPConn, error) {
			return socket.DialFrom(ctx, f.device, from, to)
		},
		DialLimit: dialLimit,
		IsVM: func(a netip.Addr) error {
			// A host has just accepted a connection at this address, so the kernel knows its MAC. It may be another VM.
			switch mac := hosts.MACOf(a); {
			case mac == "":
				return errors.New("the kernel has no MAC for the address of the VM")
			case !names.VMHas(a, mac):
				return errors.New("another host has the address of the VM")
			}
			return nil
		},
		Ended: lines.Ended, Refused: lines.Refused, Metrics: access.NewMetrics(registry, keys.Current),
	})
	a := servers.Access{Source: source, Device: cmp.Or(management, wire.ManagementDevice), Server: server, Log: log}
	g, ctx := errgroup.WithContext(ctx)
	if a.Interface, err = f.on(ctx); err != nil {
		return err
	}
	if f.inPod() {
		file := sharedfiles.NewReportFile(wire.File(f.runDir, f.program, wire.ReportFile), log)
		a.Report = func(balanced, closed []uint16) {
			file.Set(reported.EdgeReport{Balanced: balanced, ClosedPorts: closed})
		}
	}
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { keys.Run(ctx); return nil })
	g.Go(func() error { return f.health(ctx, a.Status.Err, registry, a.Status.Question()) })
	g.Go(func() error { return lines.Run(ctx) })
	g.Go(func() error { server.Run(ctx); return nil })
	g.Go(func() error { return a.Run(ctx) })
	return g.Wait()
}
