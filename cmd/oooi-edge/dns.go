// This file holds `oooi-edge dns`: its flags, and the composition of the DNS server of one edge.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/dns"
	"github.com/cldmnky/oooi/edge/agent/servers"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/resolvconf"
)

func newDNSCommand() *cobra.Command {
	f := serverFlags{program: string(network.ServiceDNS)}
	var listen string
	c := &cobra.Command{
		Use:   "dns --plan FILE",
		Short: "Run the DNS server of a plan on one network",
		Long: `Answers the DNS names of one network of a plan, as an edge does. Without --watch it needs no
cluster: it reads the plan from the file and reloads it on change. Names that are not in the plan
are refused, or forwarded to its upstream servers.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := parseListen(listen)
			if err != nil {
				return err
			}
			return runDNS(c.Context(), f, at, f.log(c))
		},
	}
	f.add(c)
	c.Flags().StringVar(&listen, "listen", "", "`address:port` to listen on (default: the service VIP of the network, port 53)")
	return c
}

// parseListen parses the flag --listen. If it is empty, the result is zero.
func parseListen(s string) (netip.AddrPort, error) {
	if s == "" {
		return netip.AddrPort{}, nil
	}
	at, err := netip.ParseAddrPort(s)
	if err != nil || !at.Addr().Is4() {
		return netip.AddrPort{}, fmt.Errorf("--listen %s: want an IPv4 address and a port, like 192.168.100.3:53", s)
	}
	return at, nil
}

func runDNS(ctx context.Context, f serverFlags, listen netip.AddrPort, log *slog.Logger) error {
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	o := dns.Options{Log: log}
	// A host without a resolver can still serve the names of the plan.
	if b, err := os.ReadFile(wire.ResolvConf); err != nil {
		log.Warn("no upstream resolver configured", "err", err)
	} else {
		o.Resolver = resolvconf.Parse(string(b))
	}
	pods, err := f.managementDevice("")
	if err != nil {
		return err
	}
	o.Dialer = *socket.Dialer(pods)
	// Outside a pod, sockets are not bound to a device.
	onNetwork := ""
	if pods != "" {
		onNetwork = f.device
	}
	o.NetworkDialer = *socket.Dialer(onNetwork)
	// If this server watches the plan itself, its pod has no DHCP server, and so no leases.
	var vms func(mac string) bool
	var boots *sharedfiles.BootsFile
	if f.watchedBy != "" {
		names := sharedfiles.NewLeaseNames(wire.File(f.runDir, f.watchedBy, wire.LeaseCache), log)
		o.VMs, vms = names, names.HasMAC
		// A query does not prove the MAC of its sender: a VM can send one from any address.
		boots = sharedfiles.NewBootsFile(wire.File(f.runDir, f.program, wire.BootsFile), names, nil)
		o.AskedIgnition = func(client netip.Addr) { boots.Saw(client, network.BootName) }
	}
	macs, err := device.NewNeighborMACs(f.device, vms)
	if err != nil {
		return err
	}
	o.MACs = macs
	registry := prometheus.NewRegistry()
	metrics := dns.NewMetrics(registry)
	d := servers.DNS{Source: source, Handler: dns.NewHandler(metrics, o), Log: log, Listen: listen, Resolvers: resolvers}
	g, ctx := errgroup.WithContext(ctx)
	if d.Interface, err = f.on(ctx); err != nil {
		return err
	}
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { macs.Run(ctx); return nil })
	g.Go(func() error { boots.Run(ctx, log); return nil })
	f.passOn(ctx, g, kube, source, log)
	g.Go(func() error { return f.health(ctx, d.Status.Err, registry, d.Status.Question()) })
	g.Go(func() error { return d.Run(ctx) })
	// Without a device, VMs could also ask here.
	if pods != "" {
		log := log.With("for", "pods")
		p := servers.PodDNS{Interface: d.Interface, Source: source, Handler: dns.NewHandler(metrics, dns.Options{Log: log}), Log: log, Device: pods}
		g.Go(func() error { return p.Run(ctx) })
	}
	return g.Wait()
}
