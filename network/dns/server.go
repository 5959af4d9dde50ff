// This file runs CoreDNS's server on open sockets, and limits connections. The caller
// chooses addresses and devices.

package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/transport"
	"golang.org/x/sync/errgroup"
)

const (
	// maxConnections over TCP in total, maxConnectionsEach for one address. Each takes a
	// file descriptor.
	maxConnections     = 2000
	maxConnectionsEach = 100
	// idle is how long a connection without a question stays open.
	idle = 10 * time.Second
)

// Run serves h on p (UDP) and l (TCP) until ctx ends. It then answers pending questions
// within seconds and closes both.
func Run(ctx context.Context, h *Handler, p net.PacketConn, l net.Listener) error {
	config := &dnsserver.Config{
		Zone:        ".",
		Transport:   transport.DNS,
		ListenHosts: []string{""},
		IdleTimeout: idle,
		Plugin:      []plugin.Plugin{func(plugin.Handler) plugin.Handler { return h }},
	}
	server, err := dnsserver.NewServer(transport.DNS+"://"+l.Addr().String(), []*dnsserver.Config{config})
	if err != nil {
		return fmt.Errorf("dns server: %w", err)
	}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return closed(server.ServePacket(p)) })
	g.Go(func() error { return closed(server.Serve(limited{l, newQuota(maxConnections, maxConnectionsEach)})) })
	g.Go(func() error {
		<-running.Done()
		err := server.Stop()
		// Stop does not close sockets that were never served.
		return errors.Join(err, closed(p.Close()), closed(l.Close()))
	})
	return g.Wait()
}

// closed ignores that a socket is closed already.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
