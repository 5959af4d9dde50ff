// This file asks servers behind sockets of other containers over HTTP.

package rundir

import (
	"context"
	"net"
	"net/http"
)

// Transport returns an HTTP transport to the server behind socket, whatever host a request names. Each request dials
// again, so a stopped server is noticed immediately. See Dial.
func Transport(socket string) *http.Transport {
	return &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, socket) },
		DisableKeepAlives: true,
	}
}
