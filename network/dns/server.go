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

const (
	// maxConnections of all clients together by TCP, maxConnectionsEach of one
	// address. Each is a file descriptor.
	maxConnections     = 2000
	maxConnectionsEach = 100
	// idle is how long a connection is kept without a question.
	idle = 10 * time.Second
)

// Run answers with h on p (UDP) and l (TCP) until ctx ends, then answers what
// was asked, within seconds, and closes both.
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
		// Stop leaves open what had not begun to be served.
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
