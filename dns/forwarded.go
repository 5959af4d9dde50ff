// This file converts a client's question for upstreams, and an upstream's answer for the client. It is pure.

package dns

import (
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/answers"
)

// asksFor returns the question of r.
func asksFor(r *dns.Msg) question {
	opt := r.IsEdns0()
	return question{
		name: dns.CanonicalName(r.Question[0].Name), rrtype: r.Question[0].Qtype,
		do: opt != nil && opt.Do(), cd: r.CheckingDisabled,
	}
}

// query returns the message that asks upstreams for q, without EDNS options, which are hop by hop (RFC 6891,
// section 6.1.1). It requests recursion and the AD bit: the answer is cached for other clients.
func query(q question) *dns.Msg {
	m := new(dns.Msg).SetQuestion(q.name, q.rrtype)
	m.CheckingDisabled, m.AuthenticatedData = q.cd, true
	return m.SetEdns0(answers.BufferSize, q.do)
}

// answer returns the answer to r from an entry.
func (e *entry) answer(r *dns.Msg, what state, now time.Time) *dns.Msg {
	m, err := e.message(what, now)
	if err != nil {
		return failure(r) // This cannot happen, since fly packed the message.
	}
	return filled(r, m)
}

// filled turns m, an upstream's answer, into the answer to r.
func filled(r, m *dns.Msg) *dns.Msg {
	m.Id, m.Question, m.Response = r.Id, r.Question, true
	m.RecursionDesired, m.CheckingDisabled = r.RecursionDesired, r.CheckingDisabled
	m.Authoritative, m.RecursionAvailable, m.Compress = false, true, true
	opt := r.IsEdns0()
	if m.Rcode > 0xf && opt == nil {
		return failure(r) // An extended code needs EDNS (RFC 6891 section 6.1.3).
	}
	m.AuthenticatedData = m.AuthenticatedData && (r.AuthenticatedData || opt != nil && opt.Do()) // RFC 6840 section 5.7
	for _, rr := range m.Answer {
		if h := rr.Header(); strings.EqualFold(h.Name, r.Question[0].Name) {
			h.Name = r.Question[0].Name
		}
	}
	return m
}

// failure returns SERVFAIL for r.
func failure(r *dns.Msg) *dns.Msg {
	m := new(dns.Msg).SetRcode(r, dns.RcodeServerFailure)
	m.RecursionAvailable = true
	return m
}
