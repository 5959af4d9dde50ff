// This file serves Envoy on Unix sockets of ours. It decides nothing about what is served.

package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"

	"github.com/cldmnky/oooi/edge/rundir"
)

const (
	// maxHeaders in bytes, of each server.
	maxHeaders = 16 << 10
	// maxThreads is how many connections a server has that each thread of Envoy uses: one for each, and as many
	// while it connects again.
	maxThreads = 2 * (Workers + 1)
)

// serveSocket serves what register adds, on a Unix socket until ctx ends. It creates a missing directory, and replaces
// the socket of a dead process. Every process that can enter the directory can connect, at most as many times as
// connections says. What is the server's name in errors.
func serveSocket(ctx context.Context, what, socket string, connections int, register func(*grpc.Server), options ...grpc.ServerOption) error {
	l, err := rundir.Listen(socket)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := os.Chmod(socket, anyone); err != nil {
		_ = l.Close()
		return fmt.Errorf("%s: %w", what, err)
	}
	server := grpc.NewServer(append(options, grpc.MaxHeaderListSize(maxHeaders))...)
	register(server)
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(netutil.LimitListener(l, connections)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
