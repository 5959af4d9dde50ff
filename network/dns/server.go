// This file runs CoreDNS's server on sockets that are open already. It decides
// limits of connections; addresses and devices are the caller's.

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

// Run answers with h on p (UDP) and l (TCP) until ctx ends, then answers what
// was asked, within seconds, and closes both.
func Run(ctx context.Context, h *Handler, p net.PacketConn, l net.Listener) error {
	config := &dnsserver.Config{
		Zone:        ".",
		Transport:   transport.DNS,
		ListenHosts: []string{""},
		IdleTimeout: 10 * time.Second,
		Plugin:      []plugin.Plugin{func(plugin.Handler) plugin.Handler { return h }},
	}
	server, err := dnsserver.NewServer(transport.DNS+"://"+l.Addr().String(), []*dnsserver.Config{config})
	if err != nil {
		return fmt.Errorf("dns server: %w", err)
	}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return server.ServePacket(p) })
	g.Go(func() error { return server.Serve(newLimited(l)) })
	g.Go(func() error {
		<-running.Done()
		err := server.Stop()
		// A server that had not begun has nothing to stop.
		return errors.Join(err, closed(p.Close()), closed(l.Close()))
	})
	return g.Wait()
}

// closed takes a socket that was closed before as closed.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
