// This file holds `oooi dns`: it joins the plan, the sockets and the DNS server
// of one edge. It decides nothing about names.

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

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/dns"
)

const dnsPort = 53

func newDNSCommand() *cobra.Command {
	var f serverFlags
	var listen string
	c := &cobra.Command{
		Use:   "dns --plan FILE",
		Short: "Run the DNS server of a plan on one network",
		Long: `Answers the DNS names of one network of a plan, as an edge does. Without --watch it needs no
cluster: the plan is read from the file and followed. Names that the plan does not have are
refused, or forwarded to the upstream servers of the plan.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := parseListen(listen)
			if err != nil {
				return err
			}
			return runDNS(c.Context(), f, at, f.log(c, string(network.ServiceDNS)))
		},
	}
	f.add(c)
	c.Flags().StringVar(&listen, "listen", "", "`address:port` to listen on (default: the service VIP of the network, port 53)")
	return c
}

// parseListen is the zero value where nothing is said.
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
	// A host that has none serves what the plan knows.
	if b, err := os.ReadFile(resolvConf); err != nil {
		log.Warn("no resolver to ask", "err", err)
	} else {
		o.Resolver = dns.ParseResolver(string(b))
	}
	if kube != nil {
		o.Dialer = *edge.Dialer(kube.Device())
		o.VMs = kube.Leases(ctx, source.Current().Network.Name)
	}
	registry := prometheus.NewRegistry()
	h := dns.NewHandler(dns.NewMetrics(registry), o)
	at := func() netip.AddrPort {
		if listen.IsValid() {
			return listen
		}
		return netip.AddrPortFrom(source.Current().Network.ServiceVIP, dnsPort)
	}
	var status agent.Status
	g, ctx := errgroup.WithContext(ctx)
	on, err := f.on(ctx)
	if err != nil {
		return err
	}
	g.Go(func() error { return source.Run(ctx) })
	// What CoreDNS counts is in the process' registry.
	g.Go(func() error {
		return f.health(ctx, string(network.ServiceDNS), status.Err, prometheus.Gatherers{registry, prometheus.DefaultGatherer}, status.Question())
	})
	changed := source.Changed()
	h.Serve(source.Current().Network)
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
			changed = source.Changed()
			h.Serve(source.Current().Network)
		}
	})
	g.Go(func() error {
		admissible := func() error { return mayDNS(on, source.Current().Network, at().Addr()) }
		return agent.ServeWhile(ctx, &status, log, agent.Triggers{Interface: on.Changed, Plan: source.Changed}, admissible, func(ctx context.Context, ready func()) error {
			return serveDNS(ctx, h, source, f.device, at, func(here netip.AddrPort) {
				ready()
				log.Info("serving", "address", here, "interface", f.device)
			})
		})
	})
	return g.Wait()
}

// mayDNS is nil where DNS may be served: the resolver is needed where it is asked.
func mayDNS(on agent.Interface, n network.Network, at netip.Addr) error {
	if n.DNS.Upstreams.Mode == network.UpstreamManagement {
		if err := on.Reaches(n, resolvers()...); err != nil {
			return err
		}
	}
	return on.Admissible(at)
}

// serveDNS answers at one address, until ctx ends or the plan names another.
func serveDNS(ctx context.Context, h *dns.Handler, source *edge.Source, device string, at func() netip.AddrPort, ready func(netip.AddrPort)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changed, here := source.Changed(), at()
	p, err := edge.ListenPacket(ctx, device, here)
	if err != nil {
		return err
	}
	l, err := edge.Listen(ctx, device, here)
	if err != nil {
		_ = p.Close()
		return err
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			if changed = source.Changed(); at() != here {
				stop()
			}
		}
	}()
	ready(here)
	return dns.Run(ctx, h, p, l)
}
