// This file runs a TCP server of a test in a namespace.

package netns

import (
	"net"
	"testing"

	"github.com/cldmnky/oooi/test/loopback"
)

// Serve accepts TCP connections at an IPv4 address and port of the namespace until the test ends. Each connection is
// closed once handle has returned.
func (n *Namespace) Serve(t testing.TB, at string, handle func(net.Conn)) {
	t.Helper()
	var l net.Listener
	var err error
	n.Do(t, func() { l, err = net.Listen("tcp4", at) })
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go loopback.Accept(l, handle)
}
