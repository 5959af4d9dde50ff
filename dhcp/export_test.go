package dhcp

import (
	"context"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
)

// Process decides and writes about a message what Serve does. The result would be sent. It has no socket
// and no limits: a message is not dropped, and the network is not asked.
func (s *Server) Process(ctx context.Context, request *dhcpv4.DHCPv4, dst netip.Addr) reply.Verdict {
	n := s.Network()
	s.mu.Lock()
	v := s.share(n, request, dst)
	s.mu.Unlock()
	if v.Waits() {
		v = s.write(ctx, n, request, v)
	}
	s.mu.Lock()
	removes := v.Remove.Address.IsValid() && s.mayRemove(v.Remove)
	s.mu.Unlock()
	if removes {
		s.remove(ctx, v.Remove)
	}
	return v
}

// Start makes a server without a socket ready for Process.
func (s *Server) Start() *Server {
	s.forgetAll()
	return s
}

// Offers has an address count as offered to a MAC.
func (s *Server) Offers(a netip.Addr, mac string) { s.offers.Add(a, mac, s.Now()) }

// Tend does what Serve does from time to time.
func (s *Server) Tend(ctx context.Context) {
	s.writeLate(ctx)
	s.collect(ctx)
}
