// This file answers questions that the plan decides, from packet to packet. It needs no dns.Msg.

package dns

import (
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/answers"
)

// answer appends to parameter out the answer to the packet b, and counts it. Nil: ServeDNS must answer.
func (h *Handler) answer(client netip.Addr, b, out []byte, tcp bool) (answer []byte) {
	if !h.guard.run(func() { answer = h.plain(client, b, out, tcp) }) {
		return nil
	}
	return answer
}

func (h *Handler) plain(client netip.Addr, b, out []byte, tcp bool) (answer []byte) {
	start := time.Now()
	p, s := answers.Parse(b)
	switch s {
	case answers.NotOurs:
		return nil
	case answers.Malformed:
		h.strange.count(byNone, dns.RcodeFormatError, start)
		return answers.AppendMalformed(out, b)
	}
	limit := p.Limit()
	if tcp {
		limit = dns.MaxMsgSize
	}
	now := h.serving.Load()
	v := now.views.For(client)
	reply, t, source, flags := answers.Reply{Rcode: dns.RcodeRefused}, h.strange, byNone, uint16(0)
	switch {
	case p.Version != 0:
		reply.Rcode = dns.RcodeBadVers
	case v != nil:
		var known bool
		if reply, known = answers.Decide(v, h.options.VMs, p.Name, p.Kind, p.Class); !known {
			return nil
		}
		h.asked(now, client, p.Name)
		t, source = now.tallies[v], byPlan
		if now.recursive(v) {
			flags |= answers.FlagAvailable
		}
		if reply.Rcode != dns.RcodeRefused {
			flags |= answers.FlagAuthoritative
		}
	}
	answer, ok := p.AppendReply(out, b, reply, flags, limit)
	if !ok {
		return nil
	}
	t.count(source, reply.Rcode, start)
	return answer
}

// sized announces to clients the size of UDP packets that this server accepts, not their own size (RFC 6891 section 6.2.3).
type sized struct{ dns.ResponseWriter }

// WriteMsg implements dns.ResponseWriter.
func (w sized) WriteMsg(m *dns.Msg) error {
	if opt := m.IsEdns0(); opt != nil {
		opt.SetUDPSize(answers.BufferSize)
	}
	return w.ResponseWriter.WriteMsg(m)
}
