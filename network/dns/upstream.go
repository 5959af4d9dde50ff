// This file asks upstream resolvers. It decides who is asked when, and never
// what: which names may be asked at all was decided before.

package dns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"
)

const (
	// patience with one server before the next is asked as well.
	patience = 400 * time.Millisecond
	// giveUp on one server. With the patience for those before it this is less
	// than the 5 s after which a client asks again.
	giveUp = 3500 * time.Millisecond
	// maxQuestions are asked at the same time for all clients, maxQuestionsEach
	// for each. Every one is a socket.
	maxQuestions     = 512
	maxQuestionsEach = 64
	// bufferSize in octets is what fits into every network's packets (DNS flag
	// day 2020).
	bufferSize = 1232
)

// Upstream is a CoreDNS plugin that asks servers: the one that answered last
// first, and the next as soon as that one fails or is slow.
type Upstream struct {
	servers []netip.AddrPort
	dialer  net.Dialer
	metrics *Metrics
	log     *slog.Logger
	asking  *quota
	first   atomic.Int32
	// down says for each server that its failing was logged.
	down []atomic.Bool
}

var _ plugin.Handler = (*Upstream)(nil)

// NewUpstream asks servers, at least one, through sockets that dialer opens.
func NewUpstream(servers []netip.AddrPort, dialer net.Dialer, m *Metrics, log *slog.Logger) *Upstream {
	return &Upstream{
		servers: servers, dialer: dialer, metrics: m, log: log,
		asking: newQuota(maxQuestions, maxQuestionsEach), down: make([]atomic.Bool, len(servers)),
	}
}

// Name implements plugin.Handler.
func (u *Upstream) Name() string { return "upstream" }

// ServeDNS implements plugin.Handler. Where nobody could be asked the code is
// SERVFAIL, with an error if that was the servers' fault.
func (u *Upstream) ServeDNS(_ context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	client := clientOf(w.RemoteAddr())
	if !u.asking.take(client) {
		u.metrics.upstream("", "busy")
		return dns.RcodeServerFailure, nil
	}
	defer u.asking.free(client)
	answer, err := u.ask(question(r))
	if err != nil {
		return dns.RcodeServerFailure, err
	}
	return dns.RcodeSuccess, w.WriteMsg(passed(r, answer))
}

// question is what is asked for r: options are between neighbours (RFC 6891,
// section 6.1.1), so none goes further. Recursion is always asked for: an answer
// without it would be cached for those who want it.
func question(r *dns.Msg) *dns.Msg {
	m := new(dns.Msg)
	m.SetQuestion(r.Question[0].Name, r.Question[0].Qtype)
	m.CheckingDisabled, m.AuthenticatedData = r.CheckingDisabled, r.AuthenticatedData
	opt := r.IsEdns0()
	m.SetEdns0(bufferSize, opt != nil && opt.Do())
	return m
}

// passed is an upstream's answer as ours to r.
func passed(r, answer *dns.Msg) *dns.Msg {
	m := answer.Copy()
	m.Id, m.Question = r.Id, r.Question
	m.RecursionDesired = r.RecursionDesired
	m.Authoritative, m.RecursionAvailable, m.Compress = false, true, true
	m.Extra = m.Extra[:0]
	for _, rr := range answer.Extra {
		if rr.Header().Rrtype != dns.TypeOPT {
			m.Extra = append(m.Extra, rr)
		}
	}
	return m
}

type outcome struct {
	server int
	answer *dns.Msg
	err    error
}

// ask returns the first answer. SERVFAIL and REFUSED are one only where no
// server does better. A server that is slower than others is waited for in the
// background, so that its failing is seen.
func (u *Upstream) ask(m *dns.Msg) (*dns.Msg, error) {
	outcomes := make(chan outcome, len(u.servers))
	first := int(u.first.Load())
	asked := 0
	next := func() {
		server := (first + asked) % len(u.servers)
		asked++
		go func() {
			answer, err := u.exchange(u.servers[server], m.Copy())
			u.note(server, err)
			outcomes <- outcome{server, answer, err}
		}()
	}
	next()
	slow := time.NewTicker(patience)
	defer slow.Stop()
	var worse outcome
	for failed := 0; failed < len(u.servers); {
		select {
		case <-slow.C:
			if asked < len(u.servers) {
				next()
			}
		case o := <-outcomes:
			if o.err == nil && o.answer.Rcode != dns.RcodeServerFailure && o.answer.Rcode != dns.RcodeRefused {
				u.first.Store(int32(o.server))
				return o.answer, nil
			}
			failed++
			if worse.answer == nil {
				worse = o
			}
			if asked < len(u.servers) {
				next()
			}
		}
	}
	return worse.answer, worse.err
}

// exchange asks one server, by TCP too where the answer is too long for UDP.
func (u *Upstream) exchange(server netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	defer cancel()
	var answer *dns.Msg
	var err error
	for _, transport := range []string{"udp", "tcp"} {
		client := dns.Client{Net: transport, Dialer: &u.dialer, UDPSize: bufferSize, Timeout: giveUp}
		answer, _, err = client.ExchangeContext(ctx, m, server.String())
		if err != nil || !answer.Truncated {
			break
		}
	}
	if err == nil && !answers(m, answer) {
		err = errors.New("it answered to something else")
	}
	if err != nil {
		u.metrics.upstream(server.String(), "failed")
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	u.metrics.upstream(server.String(), rcodeName(answer.Rcode))
	return answer, nil
}

// answers says whether answer is to m: a wrong one is a stranger's, or stale.
func answers(m, answer *dns.Msg) bool {
	if !answer.Response || answer.Id != m.Id || len(answer.Question) != 1 {
		return false
	}
	q, a := m.Question[0], answer.Question[0]
	return q.Qtype == a.Qtype && q.Qclass == a.Qclass && dns.CanonicalName(q.Name) == dns.CanonicalName(a.Name)
}

// note logs where a server begins or ceases to fail.
func (u *Upstream) note(server int, err error) {
	failing := err != nil
	if u.down[server].Swap(failing) == failing {
		return
	}
	if failing {
		u.log.Warn("an upstream resolver does not answer", "server", u.servers[server], "error", err)
	} else {
		u.log.Info("an upstream resolver answers again", "server", u.servers[server])
	}
}
