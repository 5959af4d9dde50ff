// This file probes an address before the server offers it to a client that did not have it (RFC 2131 section 3.1;
// compare RFC 5227). It also probes before the server accepts a DECLINE. Other messages do not wait for probes.

package dhcp

import (
	"context"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/recent"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

const (
	// askTime is how long an offer waits for answers at most, for all addresses together.
	// Clients wait for two seconds or more.
	askTime = 200 * time.Millisecond
	// lateTime is how long a probe waits for an answer. After askTime, an answer only affects later offers.
	lateTime = time.Second
	// addressesAsked is how many addresses are probed for one offer.
	addressesAsked = 4
	// brief is how long a declined address is in quarantine if no other host answers for it.
	brief = 5 * time.Minute
)

// The limits of probes, for VMs of the cluster and for unknown clients. Each probe makes an entry in the
// kernel's neighbor table, which all pods of a node share.
const (
	asksPerSecond, asksAtOnce               = 32, 256
	asksPerSecondUnknown, asksAtOnceUnknown = 4, 32
)

// reply sends the reply of v, a verdict that needs no write. If v is an offer that needs a probe, the
// probe comes first, and other messages are processed meanwhile.
func (s *Server) reply(ctx context.Context, n network.Network, request *dhcpv4.DHCPv4, v reply.Verdict) {
	s.mu.Lock()
	asks, waits := s.mustAsk(v), s.conflicts.asking[v.MAC]
	if asks {
		s.conflicts.asking[v.MAC] = true
	}
	s.mu.Unlock()
	switch {
	case waits && v.Outcome == reply.Offered:
		s.Metrics.drops(dropBusy)
	case asks:
		s.startAsking(ctx, n, request, v)
	default:
		s.finish(request, v)
	}
}

// mustAsk reports whether an offer needs a probe, and counts the probe against the limit. The caller holds the lock.
func (s *Server) mustAsk(v reply.Verdict) bool {
	now := s.Now()
	if s.WhoHas == nil || !v.Ask || v.Answer == nil || s.conflicts.asking[v.MAC] || s.conflicts.Known(v.Address, now) {
		return false
	}
	if v.VM == "" {
		return s.conflicts.unknown.AllowN(now, 1)
	}
	return s.conflicts.vms.AllowN(now, 1)
}

// startAsking calls ask in the background. It is a separate function, so that the arguments move to the heap only if
// it is called.
func (s *Server) startAsking(ctx context.Context, n network.Network, request *dhcpv4.DHCPv4, v reply.Verdict) {
	s.writing.Go(func() { s.ask(ctx, n, request, v) })
}

// ask probes the address of an offer, and other addresses if a host uses it. At the latest after askTime, it sends the
// offer.
func (s *Server) ask(ctx context.Context, n network.Network, request *dhcpv4.DHCPv4, v reply.Verdict) {
	client, over := v.MAC, time.NewTimer(askTime)
	defer over.Stop()
	for range addressesAsked {
		a, found := v.Address, make(chan string, 1)
		s.writing.Go(func() { found <- s.whoHas(ctx, a) })
		mac, timely := "", true
		select {
		case mac = <-found:
		case <-over.C:
			timely = false
		}
		s.mu.Lock()
		if !timely && !s.conflicts.Known(a, s.Now()) { // The answer may have come just now.
			s.conflicts.Note(a, recent.Answer{At: s.Now()})
		}
		again := false
		if mac != "" && mac != client {
			v = s.decide(n, request)
			again = v.Ask && !s.conflicts.Known(v.Address, s.Now())
		}
		s.mu.Unlock()
		if !again {
			break
		}
	}
	s.mu.Lock()
	delete(s.conflicts.asking, client)
	s.mu.Unlock()
	s.finish(request, v)
}

// whoHas probes a, and remembers the answer. It returns the MAC of the host that has a. The MAC is empty if no
// host answered within lateTime.
func (s *Server) whoHas(ctx context.Context, a netip.Addr) string {
	ctx, cancel := context.WithTimeout(ctx, lateTime)
	defer cancel()
	mac, proven, err := s.WhoHas(ctx, a)
	if err != nil {
		// The probe was not sent. The offer does not wait for it.
		s.Log.Debug("address not probed", "address", a, "err", err)
		return ""
	}
	s.mu.Lock()
	s.conflicts.Note(a, recent.Answer{MAC: mac, Proven: proven, At: s.Now()})
	s.mu.Unlock()
	return mac
}

// declinedFor returns the verdict about a DECLINE after a probe of the address. If the client itself answers, or did so
// lately, the DECLINE is ignored: the client uses the address, so another host sent the DECLINE. A client that is right
// sends it again, and by then the kernel knows the other host. If no host answers, the client is wrong or hostile. Then
// the quarantine is short, and the client gets another address meanwhile.
func (s *Server) declinedFor(ctx context.Context, v reply.Verdict) reply.Verdict {
	if v.Outcome != reply.Declined || s.WhoHas == nil {
		return v
	}
	switch s.whoHas(ctx, v.Address) {
	case v.MAC:
		return v.Instead(reply.DeclineIgnored)
	case "":
		v.Next.Expires = v.Next.Expires.Add(brief - network.Quarantine)
	}
	return v
}
