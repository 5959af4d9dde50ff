// Package listen serves Envoy on Unix sockets. It decides nothing about what is served.
package listen

import (
	"context"
	"errors"
	"net"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"

	"github.com/cldmnky/oooi/envoy/resources"
)

// MaxThreads is how many connections a server allows if each thread of Envoy connects. While a thread reconnects, it may
// have two connections.
const MaxThreads = 2 * (resources.Workers + 1)

// maxHeaders is the limit for the headers of a request, in bytes.
const maxHeaders = 16 << 10

// Serve runs a gRPC server on l, with the services that register adds, until ctx ends. connections limits how many
// connections are open at a time. Every process that can use l can connect.
func Serve(ctx context.Context, l net.Listener, connections int, register func(*grpc.Server), options ...grpc.ServerOption) error {
	server := grpc.NewServer(append(options, grpc.MaxHeaderListSize(maxHeaders))...)
	register(server)
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(netutil.LimitListener(l, connections)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}
