// This file answers plain questions, before CoreDNS sees them.

package dns

import (
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// answer appends the answer to a packet to out, and counts it. Nil: the packet is not ours.
func (h *Handler) answer(client netip.Addr, b, out []byte, tcp bool) (answer []byte) {
	if !h.guard.run(func() { answer = h.plain(client, b, out, tcp) }) {
		return nil
	}
	return answer
}

func (h *Handler) plain(client netip.Addr, b, out []byte, tcp bool) (answer []byte) {
	start := time.Now()
	p, s := parsePacket(b)
	switch s {
	case notOurs:
		return nil
	case malformed:
		h.strange.count(byNone, dns.RcodeFormatError, start)
		return appendMalformed(out, b)
	}
	limit := p.limit()
	if tcp {
		limit = dns.MaxMsgSize
	}
	now := h.serving.Load()
	v := now.views.For(client)
	reply, t, source, flags := Reply{Rcode: dns.RcodeRefused}, h.strange, byNone, uint16(0)
	switch {
	case p.version != 0:
		reply.Rcode = dns.RcodeBadVers
	case v != nil:
		var known bool
		if reply, known = decide(v, h.options.VMs, p.name, p.kind, p.class); !known {
			return nil
		}
		t, source = now.tallies[v], byPlan
		if now.recursive(v) {
			flags |= flagAvailable
		}
		if reply.Rcode != dns.RcodeRefused {
			flags |= flagAuthoritative
		}
	}
	answer, ok := p.appendReply(out, b, reply, flags, limit)
	if !ok {
		return nil
	}
	t.count(source, reply.Rcode, start)
	return answer
}

// sized tells clients which size of UDP packets this server takes, whatever they can take (RFC 6891 section 6.2.3).
type sized struct{ dns.ResponseWriter }

// WriteMsg implements dns.ResponseWriter.
func (w sized) WriteMsg(m *dns.Msg) error {
	if opt := m.IsEdns0(); opt != nil {
		opt.SetUDPSize(bufferSize)
	}
	return w.ResponseWriter.WriteMsg(m)
}
